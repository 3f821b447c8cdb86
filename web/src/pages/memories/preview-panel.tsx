import { Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { MemoryPreview } from '../../../../src/contract/memories.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { bytes, count } from '../../parts/format.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './memories.module.css'
import { memoryPreviewQuery } from './queries.ts'

interface Props {
  readonly agentId: string
  readonly onClose: () => void
}

/** The block that the model gets after the system prompt, and why each memory is in it or not. */
export function PreviewPanel({ agentId, onClose }: Props) {
  const { data, error, refetch } = useQuery(memoryPreviewQuery(agentId))
  return (
    <SidePanel title="What a new session gets" onClose={onClose}>
      {error ? (
        <ProblemBlock error={error} what="load the preview" retry={() => void refetch()} />
      ) : data ? (
        <Preview preview={data} />
      ) : (
        <Loading />
      )}
    </SidePanel>
  )
}

function Preview({ preview }: { readonly preview: MemoryPreview }) {
  const { text, memories, max_memories: maxMemories, max_bytes: maxBytes } = preview
  const injected = memories.filter(memory => memory.injected).length
  const left = memories.filter(memory => !memory.injected)
  return (
    <Stack gap="md">
      <Text size="sm">
        {injected} of {memories.length === 200 ? 'the first 200' : memories.length} memories, {bytes(preview.bytes)} of{' '}
        {bytes(maxBytes)}, about {count(preview.estimated_tokens)} tokens. At most {maxMemories} memories are in a
        prompt; the agent finds the others with its tool search_memory.
      </Text>
      {text === '' ? (
        <span className="soft">The prompt has no block of memories.</span>
      ) : (
        <CodeBlock text={text} what="block of memories" />
      )}
      {left.length > 0 && (
        <div>
          <Title order={3}>Not in the prompt</Title>
          {left.map(({ memory, message }) => (
            <div key={memory.id} className={css.row}>
              <span>
                <SafeText text={memory.text.slice(0, 160)} />
              </span>
              <StatePill state="stopped" word={message} />
            </div>
          ))}
        </div>
      )}
    </Stack>
  )
}
