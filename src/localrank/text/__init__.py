"""Turns texts into features: words, an inverted index, candidates by BM25, a ranking dataset."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.text.analysis import Analyzer as Analyzer
    from localrank.text.encoders import Encoder as Encoder
    from localrank.text.encoders import load_encoder as load_encoder
    from localrank.text.example_texts import ExampleTexts as ExampleTexts
    from localrank.text.example_texts import load_example as load_example
    from localrank.text.extractor import FeatureExtractor as FeatureExtractor
    from localrank.text.extractor import load_extractor as load_extractor
    from localrank.text.judgments import read_judgments as read_judgments
    from localrank.text.naming import feature_names as feature_names
    from localrank.text.sources import Corpus as Corpus
    from localrank.text.sources import read_corpus as read_corpus
    from localrank.text.sources import read_queries as read_queries
    from localrank.text.text_ranker import RankedDocuments as RankedDocuments
    from localrank.text.text_ranker import TextRanker as TextRanker
    from localrank.text.vector_index import VectorIndex as VectorIndex
else:
    __getattr__, __dir__ = on_use(__name__)
