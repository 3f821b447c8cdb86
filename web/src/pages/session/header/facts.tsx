import { Tooltip } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { Id } from '../../../parts/copy.tsx'
import { count, money, shortId } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import css from './header.module.css'

interface Props {
  readonly session: SessionSummary
  readonly model: string | undefined
}

/** Agent, runtime, model, cost and tokens of a session, on one line. */
export function Facts({ session, model }: Props) {
  const { id, agent_id: agentId, agent_name: name, agent_version: version, runtime } = session
  return (
    <div className={css.facts}>
      <Link to="/console/agents/$agentId" params={{ agentId }} className="clip" title="Agent">
        <SafeText text={name ?? shortId(agentId)} />
        {version !== null && <span className="numbers">@{version}</span>}
      </Link>
      <span title="Runtime">{runtime}</span>
      {model !== undefined && (
        <span className="clip" title="Model">
          <SafeText text={model} />
        </span>
      )}
      <Cost session={session} />
      <Id id={id} what="session id" />
    </div>
  )
}

function Cost({ session }: { readonly session: SessionSummary }) {
  const { cost_usd: cost, requests, budget, unpriced_requests: unpriced } = session
  const { input_tokens: input, cached_tokens: cached, output_tokens: output } = session
  const spent = money(cost ?? (requests === 0 ? 0 : null))
  const detail =
    `${requests} model calls, ${count(cached)} tokens read from the cache` +
    (unpriced > 0 ? `; the price of ${unpriced} calls is unknown` : '')
  return (
    <Tooltip label={detail}>
      <span className={`${css.cost} numbers`} tabIndex={0} data-testid="cost">
        {budget?.max_usd ? `${spent} of ${money(budget.max_usd)}` : spent}
        {budget?.max_usd && (
          <Bar spent={Number(budget.spent_usd) + Number(budget.reserved_usd)} max={Number(budget.max_usd)} />
        )}
        <span className="soft">
          {count(input)} → {count(output)} tokens
        </span>
      </span>
    </Tooltip>
  )
}

function Bar({ spent, max }: { readonly spent: number; readonly max: number }) {
  const percent = max > 0 ? Math.min(100, (100 * spent) / max) : 100
  return (
    <span
      className={css.budget}
      role="meter"
      aria-label="Budget of the session"
      aria-valuenow={Math.round(percent)}
      aria-valuemin={0}
      aria-valuemax={100}
      data-near={percent >= 80 || undefined}
    >
      <span className={css.used} style={{ width: `${percent}%` }} />
    </span>
  )
}
