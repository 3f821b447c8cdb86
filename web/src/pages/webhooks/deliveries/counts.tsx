import { useQuery } from '@tanstack/react-query'
import type { WebhookCountKind } from '../../../../../src/contract/webhook-counts.ts'
import { Time } from '../../../parts/figures.tsx'
import { count } from '../../../parts/format.ts'
import { StatePill } from '../../../parts/state-pill.tsx'
import type { StateName } from '../../../theme.ts'
import { countsQuery } from '../queries.ts'
import css from '../webhooks.module.css'

interface Kind {
  readonly kind: WebhookCountKind
  readonly state: StateName
  readonly one: string
  readonly many: string
}

const kinds: readonly Kind[] = [
  { kind: 'invalid_token', state: 'failed', one: 'wrong token', many: 'wrong tokens' },
  { kind: 'invalid_signature', state: 'failed', one: 'wrong signature', many: 'wrong signatures' },
  { kind: 'rate_limited', state: 'waiting', one: 'above the rate limit', many: 'above the rate limit' },
  { kind: 'duplicate', state: 'stopped', one: 'duplicate', many: 'duplicates' },
]

/** Requests that the log does not have. They are counted, so that a flood of them fills no table. */
export function Counts({ agentId }: { readonly agentId: string | undefined }) {
  const { data } = useQuery(countsQuery(agentId))
  const found = kinds.flatMap(({ kind, state, one, many }) => {
    const rows = (data?.counts ?? []).filter(each => each.kind === kind)
    const total = rows.reduce((sum, row) => sum + row.count, 0)
    const lastAt = rows
      .map(({ last_at }) => last_at)
      .toSorted()
      .at(-1)
    return total === 0 ? [] : [{ kind, state, text: `${count(total)} ${total === 1 ? one : many}`, lastAt }]
  })
  if (found.length === 0) return null
  return (
    <section className={css.counts} aria-label="Requests that are only counted">
      <span className="soft">Only counted, last 7 days:</span>
      {found.map(({ kind, state, text, lastAt }) => (
        <span key={kind} className={css.count}>
          <StatePill state={state} word={text} />
          <span className="soft">
            <Time at={lastAt} />
          </span>
        </span>
      ))}
    </section>
  )
}
