"""Compare two rankings, and see whether the difference is real.

BM25 and the cosine of word weights each rank the built-in texts. Their runs are compared as those
of any two systems would be: by a paired test, with a look at the documents that nobody judged, and
at how many queries would be enough.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from localrank.data import write_run
from localrank.evaluation import compare_runs
from localrank.text import FeatureExtractor, load_example

example = load_example()
extractor = FeatureExtractor(["title", "body"]).fit(example.corpus)
candidates = extractor.dataset(example.queries)
assert candidates.feature_names is not None

with TemporaryDirectory() as folder:
    paths = []
    for name in ("bm25", "cosine"):
        scores = candidates.features[:, candidates.feature_names.index(f"whole.{name}")]
        paths.append(Path(folder, f"{name}.trec"))
        write_run(candidates, scores, paths[-1], tag=name)

    # Short questions and long ones: does one of the rankings gain on one kind alone?
    kinds = {
        query: "short" if len(words.split()) < 5 else "long"
        for query, words in example.queries.items()
    }
    result = compare_runs(
        paths,
        example.qrels,
        ["ndcg@10", "map", "mrr@10"],
        categories=kinds,
        queries=example.queries,
        documents=example.corpus,
    )
    print(result)
    print()
    print("The first documents to judge:")
    to_judge = result.holes.to_judge
    for query, document in list(zip(to_judge.query_ids, to_judge.document_ids, strict=True))[:3]:
        print(f"  {example.queries[query]!r}: {document}")

    # Suppose that a judge found them all irrelevant. Does the conclusion change?
    grades: dict[str, dict[str, float]] = {}
    for query, document, grade in zip(
        example.qrels.query_ids, example.qrels.document_ids, example.qrels.relevance, strict=True
    ):
        grades.setdefault(str(query), {})[str(document)] = float(grade)
    for query, document in zip(to_judge.query_ids, to_judge.document_ids, strict=True):
        grades[str(query)][str(document)] = 0
    print()
    print("With all of them judged, and not relevant:")
    print(compare_runs(paths, grades).cautions[0])

    report = Path(folder, "report")
    result.write(report)
    print()
    print("The report has", ", ".join(sorted(path.name for path in report.iterdir())))
