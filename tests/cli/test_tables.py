from localrank.cli.tables import print_table


def test_numbers_of_a_comparison_stay_whole_in_80_characters(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    columns = ["method", "ndcg@10", "ndcg@5", "map", "models", "train s", "ms", "KiB"]
    row = ["multiple-hyperplanes", "0.4595", "0.4265", "0.4725", "10", "1234.5", "12.34", "1,650"]
    print_table("1,692 test queries", columns, [row])
    assert capsys.readouterr().out.splitlines()[-2].split() == row
