import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import type { Column } from '../../parts/data-table.tsx'
import { count } from '../../parts/format.ts'
import { useNow } from '../../parts/now.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { healthOf, type ModelRow, priceSources, priceWords, upstreamOf } from './model-rows.ts'
import { reloadModels } from './queries.ts'

/** Health of an upstream; a cooldown counts down. */
export function HealthPill({ row }: { readonly row: ModelRow }) {
  return <StatePill {...healthOf(row, useNow())} />
}

/** Lets calls use an upstream again at once. Absent unless it cools down. */
export function EndCooldown({ row }: { readonly row: ModelRow }) {
  const queries = useQueryClient()
  const end = useMutation({
    mutationFn: () => client.deployments.endCooldown({ params: { deployment_id: row.id } }),
    onSettled: () => reloadModels(queries),
  })
  if (row.deployment?.state !== 'cooling') return null
  return (
    <Button
      variant="default"
      size="compact-xs"
      loading={end.isPending}
      onClick={event => {
        event.stopPropagation()
        end.mutate()
      }}
    >
      End cooldown
    </Button>
  )
}

/** Where a model is set. */
export const sourceWords = { file: 'file', environment: 'environment', api: 'console or API' } as const

const unknown = <span className="soft">unknown</span>

const name: Column<ModelRow> = {
  key: 'name',
  title: 'Name',
  width: 'minmax(120px, 1.2fr)',
  cell: ({ model_name }) => <SafeText text={model_name} />,
}
const upstream: Column<ModelRow> = {
  key: 'upstream',
  title: 'Upstream',
  width: 'minmax(150px, 1.8fr)',
  cell: row => (
    <span className="soft">
      <SafeText text={upstreamOf(row)} />
    </span>
  ),
  isNarrow: false,
}
const health: Column<ModelRow> = {
  key: 'health',
  title: 'Health',
  width: 'minmax(164px, 1fr)',
  cell: row => <HealthPill row={row} />,
}

export const fewColumns: readonly Column<ModelRow>[] = [name, health]

export const allColumns: readonly Column<ModelRow>[] = [
  name,
  upstream,
  health,
  { key: 'end', title: '', width: '104px', cell: row => <EndCooldown row={row} />, isNarrow: false },
  {
    key: 'price',
    title: 'In / out per 1M tokens',
    width: '142px',
    cell: row =>
      row.deployment?.pricing ? (
        <span className="numbers">{priceWords(row.deployment.pricing)}</span>
      ) : (
        <span className="soft">{row.model_name.includes('*') ? 'by model' : 'unknown'}</span>
      ),
    isNarrow: false,
  },
  {
    key: 'price_source',
    title: 'Price from',
    width: '116px',
    cell: ({ deployment }) => (
      <span className="soft">{deployment?.pricing ? priceSources[deployment.pricing.source] : ''}</span>
    ),
    isNarrow: false,
  },
  {
    key: 'context',
    title: 'Context',
    width: '72px',
    align: 'end',
    cell: ({ deployment }) =>
      deployment?.context_window == null ? (
        unknown
      ) : (
        <span className="numbers">{count(deployment.context_window)}</span>
      ),
    isNarrow: false,
  },
  {
    key: 'calls',
    title: 'In flight',
    width: '64px',
    align: 'end',
    cell: ({ deployment }) => <span className="numbers">{deployment?.calls ?? 0}</span>,
    isNarrow: false,
  },
  {
    key: 'source',
    title: 'Set in',
    width: '104px',
    cell: ({ setting }) => <span className="soft">{setting ? sourceWords[setting.source] : 'built in'}</span>,
    isNarrow: false,
  },
]
