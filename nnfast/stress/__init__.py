"""Stress: clients and a driver's process under test."""
