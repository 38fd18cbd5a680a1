"""`penstock push`: publish, listen and look at subscriptions over the push protocol."""
