import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { agentChoicesQuery } from '../../data/agents.ts'
import { useAddress } from '../../parts/address.ts'
import { AgentSelect } from '../../parts/agent-select.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { ChangePanel, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { AddMemory } from './add-memory.tsx'
import { MemoryFilterBar, useMemoryFilters } from './memory-filters.tsx'
import { MemoryList } from './memory-list.tsx'
import { MemoryPanel } from './memory-panel.tsx'
import { PreviewPanel } from './preview-panel.tsx'

/** Memories, of one agent at a time. */
export function MemoriesPage() {
  const [address, setAddress] = useAddress<'agent' | 'open' | 'create' | 'preview'>()
  const { agent, open } = address
  const filtering = useMemoryFilters()
  const close = () => setAddress({ open: undefined, create: undefined, preview: undefined })
  // A memory that was opened while the form saved stays open.
  const closeForm = () => setAddress({ create: undefined })
  const create = () => setAddress({ create: '1', open: undefined, preview: undefined }, { isStep: true })
  return (
    <Page
      title="Memories"
      actions={
        agent !== undefined && (
          <>
            <Button
              variant="default"
              onClick={() => setAddress({ preview: '1', open: undefined, create: undefined }, { isStep: true })}
            >
              Preview prompt
            </Button>
            <MayChange>
              <Button leftSection={<IconPlus size={14} />} onClick={create}>
                Add memory
              </Button>
            </MayChange>
          </>
        )
      }
      toolbar={
        <>
          <AgentSelect
            label="Agent"
            isInline
            size="xs"
            value={agent}
            onChange={next => setAddress({ agent: next, open: undefined, create: undefined }, { isStep: true })}
          />
          {agent !== undefined && <MemoryFilterBar filtering={filtering} />}
        </>
      }
    >
      {agent === undefined ? (
        <NoAgent />
      ) : (
        <WithPanel
          panel={
            address.create !== undefined ? (
              <ChangePanel key="create" title="Add memory" right="Viewers cannot add memories" onClose={closeForm}>
                <AddMemory agentId={agent} onClose={closeForm} />
              </ChangePanel>
            ) : address.preview !== undefined ? (
              <PreviewPanel key="preview" agentId={agent} onClose={close} />
            ) : (
              open !== undefined && <MemoryPanel key={open} agentId={agent} id={open} onClose={close} />
            )
          }
        >
          <MemoryList
            agentId={agent}
            filtering={filtering}
            open={open}
            onOpen={id => setAddress({ open: id, create: undefined, preview: undefined }, { isStep: true })}
            onCreate={create}
          />
        </WithPanel>
      )}
    </Page>
  )
}

function NoAgent() {
  const { data, error, refetch } = useQuery(agentChoicesQuery)
  if (!data) return error ? <ProblemBlock error={error} what="load agents" retry={() => void refetch()} /> : <Loading />
  return data.length === 0 ? (
    <Empty
      title="No agents yet"
      action={
        <LinkButton to="/console/agents" search={{ create: '1' }}>
          Create agent
        </LinkButton>
      }
      link={<a href="/docs#tag/memories">How memories work</a>}
    >
      A memory belongs to an agent: a short text that its new sessions get at their start.
    </Empty>
  ) : (
    <Empty title="Choose an agent" link={<a href="/docs#tag/memories">How memories work</a>}>
      A memory belongs to one agent: a short text that its new sessions get at their start. People add memories, and
      agents do with a tool.
    </Empty>
  )
}
