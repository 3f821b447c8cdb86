import { useQuery } from '@tanstack/react-query'
import type { Agent } from '../../../src/contract/agents.ts'
import { client } from '../data/client.ts'
import { Confirm } from './confirm.tsx'
import { plural } from './format.ts'

interface Props {
  readonly agent: Agent
  readonly kind: 'archive' | 'delete'
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

const maxCounted = 200

/** Asks before an agent is archived or deleted, and says what else stops. */
export function AgentEnd({ agent, kind, onClose, onDone }: Props) {
  const params = { agent_id: agent.id }
  const { data } = useQuery({
    queryKey: ['schedules', 'of-agent', agent.id],
    queryFn: () => client.schedules.list({ query: { agent_id: agent.id, limit: maxCounted } }),
  })
  const count = data?.schedules.length ?? 0
  const schedules =
    count === 0
      ? ''
      : ` Its ${plural(count, 'schedule')}${data?.next_cursor ? ' and more' : ''} start nothing any more.`
  const isWebhook = agent.config['webhook'] !== undefined
  const webhook = isWebhook ? ' Its webhook rejects deliveries.' : ''
  return kind === 'archive' ? (
    <Confirm
      isOpen
      onClose={onClose}
      question={`Archive agent ${agent.name}?`}
      consequence={`It accepts no new sessions, for good: an archived agent cannot be resumed.${schedules}${webhook} Running sessions continue, and all sessions stay readable.`}
      action="Archive agent"
      run={async () => {
        await client.agents.archive({ params })
        await onDone()
      }}
    />
  ) : (
    <Confirm
      isOpen
      onClose={onClose}
      question={`Delete agent ${agent.name}?`}
      consequence={`Its memories are deleted with it.${schedules}${webhook} Agents that call it get an error. Its sessions stay readable.`}
      action="Delete agent"
      name={agent.name}
      run={async () => {
        await client.agents.remove({ params })
        await onDone()
      }}
    />
  )
}
