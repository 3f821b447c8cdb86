import { SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { agentRuntimesQuery } from '../../../data/lists.ts'
import { useAddress } from '../../../parts/address.ts'
import { Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import type { Editing } from '../use-draft.ts'
import { ToolForms } from './tool-forms.tsx'
import { ToolsJson } from './tools-json.tsx'

/** What the agent can do, and what a person must approve: as a form, or as the JSON that is stored. */
export function ToolsTab({ editing }: { readonly editing: Editing }) {
  const [address, setAddress] = useAddress<'as'>()
  const { data, error, refetch } = useQuery(agentRuntimesQuery)
  if (error) return <ProblemBlock error={error} what="load the tools of runtimes" retry={() => void refetch()} />
  if (!data) return <Loading />
  const known = data.find(({ id }) => id === editing.draft.harness)?.tools ?? []
  const hasForm = known.length > 0
  const isJson = !hasForm || address.as === 'json'
  return (
    <>
      {hasForm ? (
        <SegmentedControl
          aria-label="How to show the tools"
          size="xs"
          mb="md"
          data={[
            { value: 'form', label: 'Form' },
            { value: 'json', label: 'JSON' },
          ]}
          value={isJson ? 'json' : 'form'}
          onChange={as => setAddress({ as: as === 'json' ? as : undefined })}
        />
      ) : (
        <Text size="sm" c="dimmed" mb="md">
          The runtime {editing.draft.harness} does not list its tools, so they are shown as JSON. It may have tools of
          its own.
        </Text>
      )}
      {isJson ? <ToolsJson editing={editing} /> : <ToolForms editing={editing} known={known} />}
    </>
  )
}
