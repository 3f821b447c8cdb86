import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../../src/contract/console.ts'
import { client } from '../../data/client.ts'
import { Elapsed } from '../../parts/figures.tsx'
import { money, plural } from '../../parts/format.ts'
import { MayChange } from '../../parts/may-change.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import type { StateName } from '../../theme.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'

type Running = Overview['running']

const waits: Readonly<Record<string, readonly [StateName, string]>> = {
  approval: ['attention', 'waiting for approval'],
  custom_tool: ['waiting', 'waiting for a custom tool'],
  subagent: ['running', 'waiting for a called agent'],
  retry: ['waiting', 'retrying'],
  budget: ['waiting', 'paused: budget'],
  freeze: ['waiting', 'paused: spending is frozen'],
}

/** Sessions that run, what each waits for, and what they cost a minute. */
export function RunningNow({ running }: { readonly running: Running }) {
  const queries = useQueryClient()
  const stop = useMutation({
    mutationFn: (session_id: string) =>
      client.controls.stop({ body: { session_id, reason: 'stopped in the console' } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['overview'] }),
  })
  const { sessions, running_sessions: total, cost_per_minute: cost } = running
  const rest = total - sessions.length
  return (
    <Card
      title="Running now"
      quiet={total === 0 ? 'No session runs.' : undefined}
      beside={
        total > 0 && (
          <span className="soft numbers">
            {plural(total, 'session')} · {cost === null ? 'cost unknown' : `${money(cost)} a minute`}
          </span>
        )
      }
    >
      {stop.error && <ProblemLine error={stop.error} />}
      {sessions.map(
        ({ session_id: id, title, held_by: heldBy, started_at: since, waiting_prompts: waiting, cost_per_minute }) => {
          const [state, word] = waits[heldBy ?? ''] ?? ['running', 'running']
          return (
            <div key={id} className={css.row}>
              <Link to="/console/sessions/$sessionId" params={{ sessionId: id }} className={`${css.grow} clip`}>
                <SafeText text={title === '' ? id : title} />
              </Link>
              <StatePill state={state} word={word} />
              <Elapsed since={since} />
              {waiting > 0 && <span className="soft">{plural(waiting, 'prompt')} wait</span>}
              <span className="soft numbers">
                {cost_per_minute === null ? 'cost unknown' : `${money(cost_per_minute)} a minute`}
              </span>
              <MayChange>
                <Button
                  variant="default"
                  size="compact-xs"
                  onClick={() => stop.mutate(id)}
                  loading={stop.variables === id && stop.isPending}
                >
                  Stop session
                </Button>
              </MayChange>
            </div>
          )
        },
      )}
      {rest > 0 && (
        <div className={css.row}>
          <Link to="/console/sessions" search={{ status: 'running' }}>
            {plural(rest, 'more session')}
          </Link>
        </div>
      )}
    </Card>
  )
}
