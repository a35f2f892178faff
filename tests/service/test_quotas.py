"""How the driver's process shares what it has between users and their processes."""

from nnfast.service.server.quotas import Capacity, Quotas, tallies_of_client, tallies_of_user


def hold_all(tally):
    """Take one after the other, as many as there are; how many."""
    while tally.take(1) is None:
        pass
    return tally.used


def test_a_small_client_finds_room_beside_many_that_want_everything():
    user = tallies_of_user(1000, Capacity(20_000).tallies())
    clients = [tallies_of_client(Quotas(), user) for _ in range(21)]
    for name, small in (("descriptors", 64), ("threads", 8)):
        held = [hold_all(client[name]) for client in clients]
        assert min(held) == small and sum(held) <= user[name].limit
        assert held == sorted(held, reverse=True)
