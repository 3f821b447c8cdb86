import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { webhookAddressOf } from '../../data/agents.ts'
import { recordOf } from '../../data/json.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './agent.module.css'
import { agentSchedulesQuery } from './queries.ts'
import { FlagSetting } from './setting-fields.tsx'
import type { Editing } from './use-draft.ts'

/** What starts sessions of the agent: its webhook, its schedules, other agents. */
export function TriggersTab({ editing }: { readonly editing: Editing }) {
  return (
    <>
      <WebhookSummary editing={editing} />
      <Schedules agentId={editing.agent.id} />
      <section className={css.group} aria-label="Other agents">
        <div className={css.changeName}>Other agents (A2A)</div>
        <FlagSetting
          editing={editing}
          at={{ key: 'a2a', name: 'enabled' }}
          label="Agents of other systems may call this one"
          description="Serves it by the protocol A2A; callers need a key"
        />
        <FlagSetting
          editing={editing}
          at={{ key: 'a2a', name: 'public_card' }}
          label="Show its card without a key"
          description="Its name, description and skills become public"
        />
        {recordOf(editing.draft.config['a2a'])['enabled'] === true && (
          <CodeBlock text={`${location.origin}/a2a/${editing.agent.id}`} what="A2A address" />
        )}
      </section>
    </>
  )
}

function WebhookSummary({ editing: { agent } }: { readonly editing: Editing }) {
  const webhook = recordOf(agent.config['webhook'])
  const isSet = agent.config['webhook'] !== undefined
  const mayChange = useMayChange()
  const { secret_key: key, signature, events } = webhook
  const preset = recordOf(signature)['preset']
  return (
    <section className={css.group} aria-label="Webhook">
      <div className={css.changeName}>Webhook</div>
      {isSet ? (
        <Facts
          of={[
            [
              'Address',
              <span key="a" className="mono">
                {webhookAddressOf(agent.id)}
              </span>,
            ],
            ['Secret', typeof key === 'string' && <SafeText key="s" text={`vault entry ${key}`} />],
            ['Signature', typeof preset === 'string' && <SafeText key="p" text={preset} />],
            ['Conditions', Array.isArray(events) && `${events.length} kinds of events`],
          ]}
        />
      ) : (
        <span className="soft">Nothing sends to this agent yet. A webhook starts a session for each delivery.</span>
      )}
      {(isSet || mayChange) && (
        <div>
          <LinkButton variant="default" to="/console/webhooks" search={{ agent: agent.id }}>
            {isSet ? 'Show webhook' : 'Set up webhook'}
          </LinkButton>
        </div>
      )}
    </section>
  )
}

function Schedules({ agentId }: { readonly agentId: string }) {
  const { data, error, refetch } = useQuery(agentSchedulesQuery(agentId))
  return (
    <section className={css.group} aria-label="Schedules">
      <div className={css.changeName}>Schedules</div>
      {error ? (
        <ProblemBlock error={error} what="load the schedules" retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={2} />
      ) : data.schedules.length === 0 ? (
        <span className="soft">No schedules. One starts a session at fixed times.</span>
      ) : (
        <div>
          {data.schedules.map(({ id, name, cron, timezone, status, next_run_at: next }) => (
            <div key={id} className={css.row}>
              <span className="clip">
                <Link to="/console/schedules" search={{ open: id }}>
                  <SafeText text={name} />
                </Link>{' '}
                <span className="soft mono">{cron}</span> <span className="soft">{timezone}</span>
              </span>
              {status === 'active' ? (
                <span className="soft">
                  next <Time at={next} absent="unknown" />
                </span>
              ) : (
                <StatePill state="waiting" word={status} />
              )}
            </div>
          ))}
        </div>
      )}
      <MayChange>
        <div>
          <LinkButton variant="default" to="/console/schedules" search={{ create: '1', agent: agentId }}>
            Create schedule
          </LinkButton>
        </div>
      </MayChange>
    </section>
  )
}
