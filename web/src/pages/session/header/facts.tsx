import { Progress, Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ManagedSession } from '../../../../../src/contract/sessions.ts'
import { useIsAdmin } from '../../../data/sign-in.tsx'
import { Id } from '../../../parts/copy.tsx'
import { count, money } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { agentQuery, budgetQuery, costQuery } from '../queries.ts'
import css from './header.module.css'

interface Props {
  readonly session: ManagedSession
  readonly model: string | undefined
}

/** Agent, runtime, model, cost and tokens of a session, on one line. */
export function Facts({ session, model }: Props) {
  const { data: agent } = useQuery(agentQuery(session.agent_id))
  return (
    <div className={css.facts}>
      <Link to="/console/agents/$agentId" params={{ agentId: session.agent_id }} className="clip">
        <SafeText text={agent?.name ?? session.agent} />
        {session.agent_version !== null && <span className="numbers">@{session.agent_version}</span>}
      </Link>
      <span title="Runtime">{session.runtime}</span>
      {model !== undefined && (
        <span className="clip" title="Model">
          <SafeText text={model} />
        </span>
      )}
      <Cost session={session} />
      <Id id={session.id} what="session id" />
    </div>
  )
}

function Cost({ session }: { readonly session: ManagedSession }) {
  const { data } = useQuery(costQuery(session.id, session.time.created))
  const { data: budget } = useQuery(budgetQuery(session.id, useIsAdmin()))
  if (!data) return null
  const input = data.input_tokens + data.cache_read_tokens + data.cache_write_5m_tokens + data.cache_write_1h_tokens
  const spent = money(data.cost_usd ?? (data.requests === 0 ? 0 : null))
  const limit = budget?.max_budget
  const detail =
    `${data.requests} model calls, ${count(data.cache_read_tokens)} tokens read from the cache` +
    (data.unpriced_requests > 0 ? `; the price of ${data.unpriced_requests} calls is unknown` : '')
  return (
    <Tooltip label={detail}>
      <span className={`${css.cost} numbers`} tabIndex={0} data-testid="cost">
        {limit === null || limit === undefined ? spent : `${spent} of ${money(limit)}`}
        {budget && typeof limit === 'number' && limit > 0 && (
          <Progress
            className={css.budget ?? ''}
            value={Math.min(100, (100 * (budget.spend + budget.reserved)) / limit)}
            aria-label="Budget of the session"
          />
        )}
        <span className="soft">
          {count(input)} → {count(data.output_tokens)} tokens
        </span>
      </span>
    </Tooltip>
  )
}
