import { useQueryClient } from '@tanstack/react-query'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { SidePanel } from '../../parts/side-panel.tsx'
import { MemoryForm } from './memory-form.tsx'
import { memoriesKey } from './queries.ts'

interface Props {
  readonly agentId: string
  readonly onClose: () => void
}

/** Adds a memory to an agent. */
export function AddMemory({ agentId, onClose }: Props) {
  const queries = useQueryClient()
  return (
    <SidePanel title="Add memory" onClose={onClose}>
      <MemoryForm
        initial={{ text: '', tags: [], type: 'fact', priority: 0 }}
        action="Add memory"
        onSave={async ({ type, ...fields }) => {
          const body = { ...fields, type: type.trim() === '' ? 'fact' : type, source: 'ui' as const }
          await client.memories.create({ params: { agent_id: agentId }, body })
          await queries.invalidateQueries({ queryKey: memoriesKey })
          void queries.invalidateQueries({ queryKey: agentsKey })
          onClose()
        }}
        onCancel={onClose}
      />
    </SidePanel>
  )
}
