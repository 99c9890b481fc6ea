"""Truncated and damaged bags: complete messages are read unchanged, and the loss is reported."""

from pathlib import Path

import pytest
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from rosbags.rosbag2.storage_mcap import McapReader

from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import BagReader, Message
from robot_dynamics_ros.recordings.bags.storage import zstd
from support.bag_recordings import (
    KINDS,
    insert,
    open_database,
    record,
    snapshot,
    some_messages,
    write_mcap,
)

PARTS = [0.05, 0.3, 0.5, 0.7, 0.95, 0.999]


def recovered(path: Path, *culprits: str) -> list[Message]:
    """Return the rest of an unchanged bag; one warning has its path, then ``culprits`` and a cure."""
    before = snapshot(path.parent)
    with pytest.warns(BagWarning) as caught:
        with BagReader(path) as reader:
            messages = list(reader.messages())
            assert reader.count() == len(messages)
    assert snapshot(path.parent) == before
    (warning,) = [str(warning.message) for warning in caught]
    loss = warning.removeprefix(f"{path}: ")
    assert loss != warning and all(part in loss for part in (*culprits, "Cure: "))
    return messages


def cut(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def chunks(file: Path) -> tuple[list[int], list[int], list[int]]:
    """Return begin, end and message count of each chunk of a complete file, as rosbags reads its index."""
    reader = McapReader(file)
    reader.open()
    begins = [chunk.chunk_start_offset for chunk in reader.chunks]
    ends = [chunk.chunk_start_offset + chunk.chunk_length for chunk in reader.chunks]
    counts = [sum(chunk.channel_count.values()) for chunk in reader.chunks]
    reader.close()
    return begins, ends, counts


@pytest.mark.parametrize("mode", [CompressionMode.NONE, CompressionMode.STORAGE])
def test_truncated_mcap(mode: CompressionMode, tmp_path: Path) -> None:
    """All messages before the cut are read, also from the last chunk and with trailing zeros of a file system."""
    written = some_messages(120, size=50_000)
    folder = record(tmp_path / "bag", written, mode=mode)
    file = folder / "bag.mcap"
    whole = file.read_bytes()
    (_, ends, counts) = chunks(file)
    assert len(ends) == 6
    sizes = [int(part * ends[-1]) for part in PARTS]
    for size in [9, 60, *sizes, ends[0], ends[0] + 5, ends[3] + 100, ends[0] - 1]:
        expected = sum(
            whole.find(message.data) + len(message.data) <= size for message in written
        )
        for zeros in (0, 10_000):
            file.write_bytes(whole[:size] + bytes(zeros))
            left = recovered(file, "bag.mcap")
            assert left == written[: len(left)], size
            if mode is CompressionMode.NONE:
                assert len(left) == expected, size
            else:  # zstd's blocks have 128 kB
                part = min(size - end for end in (0, *ends) if end <= size)
                begun = sum(
                    count
                    for end, count in zip(ends, counts, strict=True)
                    if end <= size
                )
                assert (
                    begun + part // 50_000 - 4 <= len(left) <= begun + part // 50_000
                ), size
    file.write_bytes(whole[: ends[2]])
    left_count = sum(counts[:3])
    # by the metadata
    assert recovered(folder, f"{left_count} of 120") == written[:left_count]


@pytest.mark.parametrize("compression", ["NONE", "ZSTD", "LZ4"])
def test_truncated_mcap_of_one_chunk(compression: str, tmp_path: Path) -> None:
    """Recorders that are killed early leave one chunk."""
    written = some_messages(4000)
    file = tmp_path / "bag.mcap"
    write_mcap(file, written, chunk_size=1 << 30, compression=compression)
    left = recovered(cut(file, int(0.6 * file.stat().st_size)), "bag.mcap")
    assert left == written[: len(left)] and 1800 < len(left) < 2600


@pytest.mark.filterwarnings("error")
def test_mcap_without_summary(tmp_path: Path) -> None:
    """Nothing is lost, and no warning is issued."""
    written = some_messages(120, size=50_000)
    (file,) = record(tmp_path / "bag", written).glob("*.mcap")
    for _ in range(3):
        cut(file, file.stat().st_size - 9)
        with BagReader(file) as reader:
            assert list(reader.messages()) == written


@pytest.mark.parametrize("has_index", [True, False])
def test_a_damaged_chunk(has_index: bool, tmp_path: Path) -> None:
    written = some_messages(120, size=50_000)
    (file,) = record(tmp_path / "bag", written, mode=CompressionMode.STORAGE).glob(
        "*.mcap"
    )
    begins, _, counts = chunks(file)
    data = bytearray(file.read_bytes())
    # zstd's data begin after 53 bytes
    data[begins[2] + 53 : begins[2] + 400] = bytes(347)
    file.write_bytes(data if has_index else data[:-10])
    expected = written[: sum(counts[:2])] + written[sum(counts[:3]) :]
    with (
        pytest.warns(BagWarning, match="bag.mcap") as caught,
        BagReader(file) as reader,
    ):
        assert list(reader.messages()) == expected
    assert len(caught) == 1


def test_truncated_compressed_file(tmp_path: Path) -> None:
    written = some_messages(120, size=50_000)
    folder = record(tmp_path / "bag", written, mode=CompressionMode.FILE)
    (file,) = folder.glob("*.zstd")
    left = recovered(cut(file, file.stat().st_size // 2), "bag.mcap.zstd")
    assert left == written[: len(left)] and len(left) > 30


@pytest.mark.parametrize("count", [150, 6000])
def test_truncated_database(count: int, tmp_path: Path) -> None:
    """All messages but those of the lost pages are read; above 5000 rows the B-tree has another level."""
    written = [
        m._replace(received=m.received + (k * 7919 % 50) * 10**6)
        for k, m in enumerate(some_messages(count))
    ]
    (file,) = record(tmp_path / "bag", written, StoragePlugin.SQLITE3).glob("*.db3")
    whole = file.read_bytes()
    pages = len(whole) // 4096
    for size in [
        *(int(part * len(whole)) for part in PARTS if part * pages > 16),
        4096 * (pages // 2),
        len(whole) - 1,
    ]:
        file.write_bytes(whole[:size])
        left = recovered(file, "bag.db3")
        assert left == sorted(
            (m for m in written if m in left), key=lambda message: message.received
        ), size
        assert len(left) >= count - (pages - size // 4096) * (4096 // 300), size


def test_truncated_database_with_long_messages(tmp_path: Path) -> None:
    written = [
        m._replace(data=m.data[: 40 + 97 * k])
        for k, m in enumerate(some_messages(150, size=20_000))
    ]
    (file,) = record(tmp_path / "bag", written, StoragePlugin.SQLITE3).glob("*.db3")
    whole = file.read_bytes()
    for part in (0.3, 0.6, 0.9):
        file.write_bytes(whole[: int(part * len(whole))])
        left = recovered(file, "bag.db3")
        assert left == [message for message in written if message in left]
        # Each message leaves at most half a page empty; one may be truncated.
        assert (
            sum(len(m.data) for m in left)
            > part * len(whole) - 4096 * (len(left) + 10) - 20_000
        )


def test_database_truncated_before_its_topics(tmp_path: Path) -> None:
    (file,) = record(tmp_path / "bag", some_messages(100), StoragePlugin.SQLITE3).glob(
        "*.db3"
    )
    for size in (50, 3000, 4096):
        cut(file, size)
        with pytest.raises(BagError, match=f"{file}: .*topics"):
            BagReader(file)


def test_a_damaged_page(tmp_path: Path) -> None:
    """Other pages are read without repetition; only the messages of the damaged page are lost."""
    written = some_messages(2000)
    database = open_database(tmp_path / "bag.db3", KINDS, "DELETE")
    insert(database, written)
    database.close()
    data = bytearray((tmp_path / "bag.db3").read_bytes())
    (page,) = {
        k
        for k in range(len(data) // 4096)
        if written[1000].data in data[4096 * k : 4096 * (k + 1)]
    }
    lost = [m for m in written if m.data in data[4096 * page : 4096 * (page + 1)]]
    data[4096 * page : 4096 * (page + 1)] = bytes(4096)
    (tmp_path / "bag.db3").write_bytes(data)
    with (
        pytest.warns(BagWarning, match="bag.db3") as caught,
        BagReader(tmp_path / "bag.db3") as reader,
    ):
        assert list(reader.messages()) == [
            message for message in written if message not in lost
        ]
        assert reader.count() == 2000 - len(lost)
    assert len(caught) == 1 and 5 < len(lost) < 14


def test_topics_without_a_number(tmp_path: Path) -> None:
    database = open_database(tmp_path / "bag.db3", KINDS, "DELETE")
    insert(database, some_messages(10))
    database.execute("CREATE TABLE other AS SELECT * FROM topics")
    database.execute(
        "INSERT INTO other (name, type, serialization_format) VALUES ('a', 'b', 'cdr')"
    )
    database.execute("DROP TABLE topics")
    database.execute("ALTER TABLE other RENAME TO topics")
    database.commit()
    database.close()
    with BagReader(tmp_path / "bag.db3") as reader:
        assert len(list(reader.messages())) == 10


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_damaged_compressed_messages(plugin: StoragePlugin, tmp_path: Path) -> None:
    """One is truncated, one has an altered byte; the others are read."""
    written = some_messages(30)
    packed = [zstd.compress(message.data) for message in written]
    packed[4] = packed[4][:-5]
    packed[9] = packed[9][:5] + bytes(1) + packed[9][6:]
    messages = [
        message._replace(data=data)
        for message, data in zip(written, packed, strict=True)
    ]
    folder = record(tmp_path / "bag", messages, plugin)
    with (
        BagReader(folder) as reader,
        pytest.warns(BagWarning, match=f"{folder}: 2 .*{written[4].topic}: ") as caught,
    ):
        assert list(reader.messages()) == [
            message for k, message in enumerate(written) if k not in (4, 9)
        ]
    assert len(caught) == 1
