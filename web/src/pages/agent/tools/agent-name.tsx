import { useQuery } from '@tanstack/react-query'
import { agentChoicesQuery } from '../../../data/agents.ts'
import { SafeText } from '../../../parts/safe-text.tsx'

/** The name of an agent; its id while the name is unknown. */
export function AgentName({ id }: { readonly id: string }) {
  const { data = [] } = useQuery(agentChoicesQuery)
  return <SafeText text={data.find(agent => agent.id === id)?.name ?? id} />
}
