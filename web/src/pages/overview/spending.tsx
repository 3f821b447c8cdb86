import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../../src/contract/console.ts'
import { money, plural } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { Card } from './card.tsx'
import css from './overview.module.css'

type Props = Pick<Overview, 'spend' | 'budgets' | 'readiness'>

/** What today costs, budgets that are nearly spent, and whether the service is ready. */
export function Spending({ spend, budgets, readiness }: Props) {
  const { cost_usd: cost, requests, unpriced_requests: unpriced } = spend
  return (
    <Card
      title="Today"
      beside={
        <Anchor component={Link} to="/console/usage" size="sm">
          Open usage
        </Anchor>
      }
    >
      <div className={css.row}>
        <b className="numbers">{money(requests === 0 ? 0 : cost)}</b>
        <span className="soft">for {plural(requests, 'call')}</span>
        {unpriced > 0 && <StatePill state="waiting" word={`${plural(unpriced, 'call')} without a known price`} />}
      </div>
      {readiness.reasons.map(reason => (
        <div key={reason} className={css.row}>
          <StatePill state="failed" word="not ready" detail={reason} />
        </div>
      ))}
      {budgets.map(({ scope, scope_id: id, spend: spent, max_budget: limit }) => (
        <div key={`${scope} ${id}`} className={css.row}>
          <StatePill
            state={Number(spent) >= Number(limit) ? 'failed' : 'waiting'}
            word={Number(spent) >= Number(limit) ? 'used up' : 'nearly used up'}
          />
          <span className={`${css.grow} clip`}>
            budget of {scope} <SafeText text={id} />
          </span>
          <span className="numbers">
            {money(spent)} of {money(limit)}
          </span>
          <Link to="/console/budgets" search={{ open: `${scope}/${id}` }}>
            Raise budget
          </Link>
        </div>
      ))}
    </Card>
  )
}
