import { ActionIcon, Group, NumberInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { isRecord } from '../../../data/json.ts'
import { useMayChange } from '../../../data/sign-in.tsx'
import { AgentSelect } from '../../../parts/agent-select.tsx'
import { MayChange } from '../../../parts/may-change.tsx'
import css from '../agent.module.css'
import type { Editing } from '../use-draft.ts'
import { AgentName } from './agent-name.tsx'
import { PolicyControl } from './policy-control.tsx'
import type { Policy } from './setup.ts'

type Fields = Readonly<Record<string, unknown>>

const maxAgents = 20

const entriesOf = (value: unknown): readonly Fields[] =>
  (Array.isArray(value) ? value : []).map(entry => (isRecord(entry) ? entry : { agent_id: String(entry) }))

/** An entry without further fields is stored as the id. */
const storedEntry = (entry: Fields): unknown => (Object.keys(entry).length === 1 ? entry['agent_id'] : entry)

function withField(entry: Fields, name: string, value: unknown): Fields {
  const { [name]: _, ...others } = entry
  return { ...others, ...(value !== undefined && { [name]: value }) }
}

const policyIn = (entry: Fields): Policy => {
  const name = isRecord(entry['permission_policy']) ? entry['permission_policy']['type'] : entry['permission_policy']
  const word = String(name ?? 'allow').replace(/^always_/, '')
  return word === 'ask' || word === 'deny' ? word : 'allow'
}

/** Other agents that this one may call, each in a separate session. */
export function Subagents({ editing: { agent, draft, set } }: { readonly editing: Editing }) {
  const mayChange = useMayChange()
  const entries = entriesOf(draft.config['agents'])
  const write = (next: readonly Fields[]) => set('agents', next.length === 0 ? undefined : next.map(storedEntry))
  const replace = (at: number, entry: Fields) => write(entries.map((each, index) => (index === at ? entry : each)))
  return (
    <section className={css.group} aria-label="Subagents">
      <div className={css.changeName}>Subagents</div>
      <div>
        {entries.map((entry, at) => (
          <SubagentRow
            key={String(entry['agent_id'])}
            entry={entry}
            onChange={next => replace(at, next)}
            onRemove={() => write(entries.filter((_, index) => index !== at))}
          />
        ))}
      </div>
      {mayChange && entries.length < maxAgents && (
        <AgentSelect
          key={entries.length}
          label="Add an agent that this one may call"
          description="Of the same owner, and none that calls this one"
          value={undefined}
          onChange={id => write([...entries, { agent_id: id }])}
          without={[agent.id, ...entries.map(entry => String(entry['agent_id']))]}
          size="xs"
        />
      )}
    </section>
  )
}

interface RowProps {
  readonly entry: Fields
  readonly onChange: (entry: Fields) => void
  readonly onRemove: () => void
}

function SubagentRow({ entry, onChange, onRemove }: RowProps) {
  const { budget_share: share, version, max_parallel: parallel } = entry
  const id = String(entry['agent_id'])
  return (
    <div className={css.subagent}>
      <Link to="/console/agents/$agentId" params={{ agentId: id }}>
        <AgentName id={id} />
      </Link>
      <Group gap="xs">
        <NumberInput
          aria-label="Version"
          placeholder="current version"
          value={typeof version === 'number' ? version : ''}
          onChange={value => onChange(withField(entry, 'version', typeof value === 'number' ? value : undefined))}
          prefix="version "
          min={1}
          allowDecimal={false}
          size="xs"
          w={120}
          hideControls
        />
        <NumberInput
          aria-label="Share of the budget of the session"
          placeholder="any share"
          value={typeof share === 'number' ? share * 100 : ''}
          onChange={value =>
            onChange(withField(entry, 'budget_share', typeof value === 'number' && value > 0 ? value / 100 : undefined))
          }
          suffix=" % of budget"
          min={0}
          max={100}
          size="xs"
          w={120}
          hideControls
        />
        <NumberInput
          aria-label="Calls at once"
          placeholder="4 at once"
          value={typeof parallel === 'number' ? parallel : ''}
          onChange={value => onChange(withField(entry, 'max_parallel', typeof value === 'number' ? value : undefined))}
          suffix=" at once"
          min={1}
          max={4}
          allowDecimal={false}
          size="xs"
          w={90}
          hideControls
        />
        <PolicyControl
          label={`Policy of agent ${id}`}
          value={policyIn(entry)}
          onChange={policy => onChange(withField(entry, 'permission_policy', policy === 'allow' ? undefined : policy))}
        />
        <MayChange>
          <ActionIcon aria-label={`Remove agent ${id}`} onClick={onRemove}>
            <IconTrash size={14} />
          </ActionIcon>
        </MayChange>
      </Group>
    </div>
  )
}
