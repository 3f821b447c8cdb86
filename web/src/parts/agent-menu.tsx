import { ActionIcon, Menu } from '@mantine/core'
import {
  IconArchive,
  IconCopy,
  IconDots,
  IconDownload,
  IconPlayerPause,
  IconPlayerPlay,
  IconTrash,
} from '@tabler/icons-react'
import { type Query, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Agent } from '../../../src/contract/agents.ts'
import { agentsKey } from '../data/agents.ts'
import { client } from '../data/client.ts'
import { AgentCopy } from './agent-copy.tsx'
import { AgentEnd } from './agent-end.tsx'
import { MayChange } from './may-change.tsx'
import { showProblem } from './notices.ts'
import { fileNameOf, saveFile } from './save-file.ts'

/** A deleted object is not loaded again while its page closes. */
const isOfOther =
  (id: string) =>
  ({ queryKey }: Query): boolean =>
    !queryKey.includes(id)

interface Props {
  readonly agent: Agent
  /** Called after the agent was deleted. */
  readonly onDeleted: () => void
}

type Dialog = 'copy' | 'archive' | 'delete'

/** What a person can do with an agent as a whole. */
export function AgentMenu({ agent, onDeleted }: Props) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<Dialog>()
  const params = { agent_id: agent.id }
  const refresh = () => queries.invalidateQueries({ queryKey: agentsKey })
  const act = (what: string, work: () => Promise<unknown>) => async () => {
    try {
      await work()
      await refresh()
    } catch (error) {
      showProblem(what, error)
    }
  }
  const exported = async () =>
    saveFile(fileNameOf(agent.name, 'agent.json'), JSON.stringify(await client.agents.export({ params }), null, 2))
  const close = () => setDialog(undefined)

  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon aria-label="Actions of the agent">
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <MayChange>
            {agent.status === 'active' && (
              <Menu.Item
                leftSection={<IconPlayerPause size={14} />}
                onClick={act('pause the agent', () => client.agents.pause({ params }))}
              >
                Pause agent
              </Menu.Item>
            )}
            {agent.status === 'paused' && (
              <Menu.Item
                leftSection={<IconPlayerPlay size={14} />}
                onClick={act('resume the agent', () => client.agents.resume({ params }))}
              >
                Resume agent
              </Menu.Item>
            )}
            <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => setDialog('copy')}>
              Clone agent…
            </Menu.Item>
          </MayChange>
          <Menu.Item leftSection={<IconDownload size={14} />} onClick={act('export the agent', exported)}>
            Export agent
          </Menu.Item>
          <MayChange>
            <Menu.Divider />
            {agent.status !== 'archived' && (
              <Menu.Item leftSection={<IconArchive size={14} />} onClick={() => setDialog('archive')}>
                Archive agent…
              </Menu.Item>
            )}
            <Menu.Item leftSection={<IconTrash size={14} />} color="red" onClick={() => setDialog('delete')}>
              Delete agent…
            </Menu.Item>
          </MayChange>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'copy' && (
        <AgentCopy
          agent={agent}
          onClose={close}
          onMade={({ id }) => {
            close()
            void refresh()
            void navigate({ to: '/console/agents/$agentId', params: { agentId: id } })
          }}
        />
      )}
      {(dialog === 'archive' || dialog === 'delete') && (
        <AgentEnd
          agent={agent}
          kind={dialog}
          onClose={close}
          onDone={async () => {
            if (dialog === 'archive') return refresh()
            onDeleted()
            await queries.invalidateQueries({ queryKey: agentsKey, predicate: isOfOther(agent.id) })
          }}
        />
      )}
    </>
  )
}
