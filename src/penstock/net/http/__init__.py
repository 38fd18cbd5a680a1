"""Parts that all HTTP applications of Penstock share: problem details, body limits, the page that shows an API."""
