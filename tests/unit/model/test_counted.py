from penstock.model.counted import counted


def test_the_noun_agrees_with_the_number() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2, 1500)] == [
        "0 partitions",
        "1 partition",
        "2 partitions",
        "1,500 partitions",
    ]
    assert counted(1, "batch", "batches") == "1 batch"
    assert counted(2, "batch", "batches") == "2 batches"
