"""Shipped with the package: fakes and conformance suites for every port."""
