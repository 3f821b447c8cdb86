import { SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import { useNames } from '../../data/names.ts'
import { oneOf, useAddress } from '../../parts/address.ts'
import { count } from '../../parts/format.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { ChartCard } from './chart-card.tsx'
import css from './charts.module.css'
import { groupId, groupName } from './dimensions.ts'
import { allInput, percent } from './figures.ts'
import { loadReportFile, reportQuery } from './queries.ts'
import { topCount } from './series.ts'
import type { UsageView } from './view.ts'

const dimensions = ['model', 'key', 'agent'] as const

/** Share of input tokens that prompt caches had, by model, key or agent. */
export function CacheCard({ view }: { readonly view: UsageView }) {
  const [{ cache }, setAddress] = useAddress<'cache'>()
  const names = useNames()
  const dimension = oneOf(cache, dimensions)
  const { data, error, refetch } = useQuery(reportQuery(view, [dimension]))
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the cache hits" retry={() => void refetch()} /> : <Loading />
  }
  const rows = data.groups.map(({ by, ...figures }) => ({
    key: groupId(dimension, by),
    name: groupName(dimension, by, names),
    read: figures.cache_read_tokens,
    input: allInput(figures),
    answers: figures.cached_requests,
    requests: figures.requests,
  }))
  const top = rows.toSorted((one, other) => other.input - one.input).slice(0, topCount)
  return (
    <ChartCard
      id="cache"
      title="Cache hits"
      load={() => loadReportFile(view, [dimension])}
      controls={
        <SegmentedControl
          size="xs"
          aria-label="Cache hits by"
          data={dimensions.map(value => ({ value, label: `By ${value}` }))}
          value={dimension}
          onChange={value => setAddress({ cache: value === 'model' ? undefined : value })}
        />
      }
      table={{
        head: [dimension, 'Hits', 'Cache read tokens', 'Input tokens', 'Response cache', 'Requests'],
        rows: rows.map(({ key, name, read, input, answers, requests }) => ({
          key,
          cells: [
            <SafeText key="name" text={name} />,
            percent(read, input),
            count(read),
            count(input),
            percent(answers, requests),
            count(requests),
          ],
        })),
        total: [
          'All',
          percent(data.totals.cache_read_tokens, allInput(data.totals)),
          count(data.totals.cache_read_tokens),
          count(allInput(data.totals)),
          percent(data.totals.cached_requests, data.totals.requests),
          count(data.totals.requests),
        ],
      }}
      note={
        <Text size="xs" c="dimmed">
          Share of input tokens that the provider read from its prompt cache
          {rows.length > top.length && `, for the ${topCount} with the most input`}.
        </Text>
      }
    >
      <div className={css.bars} role="img" aria-label={`Cache hits by ${dimension}. The table has the values.`}>
        {top.map(({ key, name, read, input }) => (
          <Fragment key={key}>
            <span className="clip">
              <SafeText text={name} />
            </span>
            <span className={css.track}>
              <div className={css.fill} style={{ width: `${input === 0 ? 0 : (read / input) * 100}%` }} />
            </span>
            <span className="numbers">{percent(read, input)}</span>
          </Fragment>
        ))}
      </div>
    </ChartCard>
  )
}
