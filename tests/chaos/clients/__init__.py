"""Clients with transactions, all behind one interface: `transactional.TransactionalClient`."""
