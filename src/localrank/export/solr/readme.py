"""The README.md of an export to Solr."""

from __future__ import annotations

from collections.abc import Sequence

from localrank.export.base import ExportedModel

_TEXT = """\
# {name} for Apache Solr

A {ranker} of localrank {version}. `features.json` and `model.json` are for Solr's
learning-to-rank module; `schema.json` holds the fields. Tested with Solr 8.11.4.

## Before you upload

Switch the module on: `SOLR_MODULES=ltr` for Solr 9 and later, `-Dsolr.ltr.enabled=true` for Solr
8. `solrconfig.xml` needs the query parser. It needs the transformer only if features are logged:

```xml
<queryParser name="ltr" class="org.apache.solr.ltr.search.LTRQParserPlugin"/>
<transformer name="features"
             class="org.apache.solr.ltr.response.transform.LTRFeatureLoggerTransformerFactory">
  <str name="fvCacheName">QUERY_DOC_FV</str>
</transformer>
<!-- within <query> -->
<cache name="QUERY_DOC_FV" class="solr.search.CaffeineCache" size="4096"
       regenerator="solr.search.NoOpRegenerator"/>
```

## Upload

```sh
solr=http://localhost:8983/solr/COLLECTION
curl -X POST -H 'Content-type: application/json' $solr/schema --data-binary @schema.json
curl -X PUT -H 'Content-type: application/json' $solr/schema/feature-store \\
     --data-binary @features.json
curl -X PUT -H 'Content-type: application/json' $solr/schema/model-store \\
     --data-binary @model.json
```

Remove fields from `schema.json` that the schema already has. To replace a model, delete
`$solr/schema/model-store/{name}` first, then `$solr/schema/feature-store/{name}`, and reload the
collection.

## Rank

```sh
curl $solr/query --data-urlencode 'q=…' \\
     --data-urlencode 'rq={{!ltr model={name} reRankDocs=100}}' \\
     --data-urlencode 'fl=id,score,[features store={name}]'
```

The model ranks the best `reRankDocs` documents of the query. The documents after them keep their
order. Scores may be negative. Equal scores stay in the order of the index.

## What is exact

- Fields hold the features as float32, and Solr computes in float32: its scores differ from
  localrank's by rounding. `localrank export … --verify` shows by how much.
- Splits of trees decide as in localrank for every float32 value. Solr adds 0.000001 to thresholds;
  they are written so that the sum is right. Features with thresholds near zero are divided by a
  power of two, which loses nothing.
- A missing value counts as zero, unless the model was trained on missing values. Then
  `defaultValue` is NaN, and missing values go where they went in training.
- Before Solr 8.9 the fields must be stored.
"""


def readme(model: ExportedModel, fields: Sequence[str]) -> str:
    """How to upload the files and rank with them."""
    text = _TEXT.format(
        name=model.name,
        ranker=model.facts.get("ranker", "model"),
        version=model.facts.get("localrank", ""),
    )
    return text + model.renamed(fields)
