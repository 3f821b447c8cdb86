import { Table, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import type { Names } from '../../data/names.ts'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { duration, exactCount, exactTime } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { CallState } from './columns.tsx'

interface Props {
  readonly call: UsageCall
  readonly names: Names
}

const idOf = (id: string | null, what: string): ReactNode => id !== null && <Id id={id} what={what} />

const textOf = (text: string | null): ReactNode => text !== null && text !== '' && <SafeText text={text} />

const exactCost = (usd: string | null): ReactNode =>
  usd === null ? <span className="soft">unknown: the model has no price</span> : <span className="numbers">${usd}</span>

/** The fields of a call besides its tokens. */
export function CallFacts({ call, names }: Props) {
  const { key_id: keyId, agent_id: agentId } = call
  return (
    <Facts
      of={[
        ['Outcome', <CallState key="state" call={call} />],
        ['Stop reason', textOf(call.stop_reason)],
        [
          'Recorded',
          <span key="time">
            {exactTime(Date.parse(call.created_at))} (<Time at={call.created_at} />)
          </span>,
        ],
        ['Request id', idOf(call.request_id, 'request id')],
        ['Model', textOf(call.model)],
        ['Deployment', textOf(call.deployment)],
        ['Provider', textOf(call.provider)],
        ['Upstream model', textOf(call.upstream_model)],
        ['Protocol', textOf(call.protocol)],
        ['Path', textOf(call.lane)],
        ['Attempts', call.attempts],
        ['First token', call.first_content_ms === null ? 'none' : duration(call.first_content_ms)],
        ['Total', duration(call.total_ms)],
        ['Cost', exactCost(call.cost_usd)],
        ['Reserved', call.held_usd !== null && `$${call.held_usd}`],
        ['Price source', textOf(call.price_source)],
        ['Caller', textOf(call.principal)],
        ['Key', keyId !== null && <KeyLink key="key" id={keyId} name={names.keys.get(keyId)} />],
        ['Owner', textOf(call.owner_id)],
        [
          'Agent',
          agentId !== null && <AgentLink key="agent" call={call} id={agentId} name={names.agents.get(agentId)} />,
        ],
        ['Session', idOf(call.session_id, 'session id')],
        ['Prompt', idOf(call.prompt_id, 'prompt id')],
        ['Batch', idOf(call.batch_id, 'batch id')],
        ['Run', idOf(call.run_id, 'run id')],
        ['Client session', textOf(call.client_session_id)],
        ['Client agent', textOf(call.client_agent_id)],
        ['Parent of it', textOf(call.client_parent_id)],
        ['Row', idOf(call.id, 'row id')],
      ]}
    />
  )
}

function KeyLink({ id, name }: { readonly id: string; readonly name: string | undefined }) {
  return (
    <Link to="/console/keys" search={{ open: id }}>
      <SafeText text={name ?? id} />
    </Link>
  )
}

function AgentLink({
  call,
  id,
  name,
}: Pick<Props, 'call'> & { readonly id: string; readonly name: string | undefined }) {
  return (
    <>
      <Link to="/console/agents/$agentId" params={{ agentId: id }}>
        <SafeText text={name ?? id} />
      </Link>
      {call.agent_version !== null && <span className="soft"> version {call.agent_version}</span>}
    </>
  )
}

const kinds = [
  ['Input', 'input_tokens', 'input'],
  ['Cache read', 'cache_read_tokens', 'cache_read'],
  ['Cache write, 5 min', 'cache_write_5m_tokens', 'cache_write_5m'],
  ['Cache write, 1 h', 'cache_write_1h_tokens', 'cache_write_1h'],
  ['Output', 'output_tokens', 'output'],
  ['of which reasoning', 'reasoning_tokens', undefined],
  ['Web searches', 'web_searches', 'web_search'],
] as const

interface Counted {
  readonly name: string
  readonly amount: number
  /** US dollars per token or unit. */
  readonly rate: string | undefined
}

/** Lists what was counted; kinds of 0 without a rate are left out, rates without a known kind are not. */
function countedOf({ rates, units, ...call }: UsageCall): readonly Counted[] {
  const listed: ReadonlySet<string> = new Set(kinds.map(([, , rate]) => rate ?? ''))
  const other = new Set([...Object.keys(units ?? {}), ...Object.keys(rates ?? {})].filter(name => !listed.has(name)))
  return [
    ...kinds.map(([name, field, rate]) => ({ name, amount: call[field], rate: rate && rates?.[rate] })),
    ...[...other].map(name => ({ name, amount: units?.[name] ?? 0, rate: rates?.[name] })),
  ].filter(({ amount, rate }) => amount > 0 || rate !== undefined)
}

/** US dollars per million of a rate, which is an exact decimal per unit. */
const perMillion = (rate: string): string => {
  const value = Number(rate) * 1e6
  return `$${value.toLocaleString('en-US', { maximumSignificantDigits: 8 })}`
}

/** Tokens and other units of a call with the rates that were applied. */
export function CallTokens({ call }: { readonly call: UsageCall }) {
  return (
    <div>
      <Title order={3}>Tokens and rates</Title>
      {call.estimated && <p className="soft">The tokens are estimates, in whole or in part.</p>}
      <Table fz="sm" verticalSpacing={4} className="numbers">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Kind</Table.Th>
            <Table.Th ta="end">Amount</Table.Th>
            <Table.Th ta="end">Rate per million</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {countedOf(call).map(({ name, amount, rate }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <SafeText text={name} />
              </Table.Td>
              <Table.Td ta="end">{exactCount(amount)}</Table.Td>
              <Table.Td ta="end" title={rate && `$${rate} each`}>
                {rate === undefined ? <span className="soft">none</span> : perMillion(rate)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

/** What could not be translated, one change a line. */
export function Degradations({ text }: { readonly text: string }) {
  return (
    <div>
      <Title order={3}>Degradations</Title>
      <p className="soft">Parts of the request or the answer that the format of the provider does not have.</p>
      <Facts
        of={text.split(', ').map((pair, at) => {
          const [path = '', action] = pair.split('=')
          return action === undefined
            ? [`${at + 1}`, `${path} more`]
            : [`${at + 1}`, <Degradation key={pair} path={path} action={action} />]
        })}
      />
    </div>
  )
}

const Degradation = ({ path, action }: { readonly path: string; readonly action: string }) => (
  <>
    <span className="mono">
      <SafeText text={path} />
    </span>{' '}
    <SafeText text={action} />
  </>
)
