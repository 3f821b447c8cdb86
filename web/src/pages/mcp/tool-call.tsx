import { Modal, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { McpServer, McpTool } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { duration } from '../../parts/format.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SchemaForm } from '../../parts/schema-form.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './mcp.module.css'
import { ToolResult } from './tool-result.tsx'

interface Props {
  readonly server: McpServer
  readonly tool: McpTool
  readonly onClose: () => void
}

/** Calls a tool with values from a form, and shows its result. */
export function ToolCall({ server, tool, onClose }: Props) {
  const queries = useQueryClient()
  const section = useRef<HTMLElement>(null)
  const call = useMutation({
    mutationFn: async (values: Readonly<Record<string, unknown>>) => {
      const startedAt = performance.now()
      const body = { server_id: server.server_id, name: tool.name, arguments: values }
      const result = await client.mcp.call({ body })
      return { result, ms: performance.now() - startedAt }
    },
    onSuccess: () => requestAnimationFrame(() => section.current?.scrollIntoView({ block: 'nearest' })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['mcp', 'totals'] }),
  })
  return (
    <Modal
      opened
      onClose={onClose}
      size={1100}
      title={<SafeText text={`Call ${tool.name} of ${server.server_name}`} />}
    >
      <div className={css.call}>
        <Stack gap="md">
          {tool.description !== undefined && (
            <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              <SafeText text={tool.description.slice(0, 4_000)} />
            </Text>
          )}
          <Effects tool={tool} />
          <SchemaForm
            schema={tool.inputSchema}
            action="Call tool"
            isRunning={call.isPending}
            onSubmit={values => call.mutate(values)}
          >
            <ProblemLine error={call.error} />
          </SchemaForm>
        </Stack>
        <section ref={section} aria-label="Result" aria-live="polite">
          <Title order={2} mb="xs">
            Result
          </Title>
          {call.data ? (
            <>
              <StatePill
                state={call.data.result.isError ? 'failed' : 'done'}
                word={call.data.result.isError ? 'tool reports an error' : 'completed'}
                detail={`in ${duration(call.data.ms)}`}
              />
              <ToolResult result={call.data.result} />
            </>
          ) : (
            <Text size="sm" c="dimmed">
              A call uses the credential of the server and counts like a call of a client.
            </Text>
          )}
        </section>
      </div>
    </Modal>
  )
}

/** What the server says about the effects of the tool. It is a claim: the service does not check it. */
function Effects({ tool }: { readonly tool: McpTool }) {
  const annotations = 'annotations' in tool ? tool.annotations : undefined
  if (typeof annotations !== 'object' || annotations === null) return null
  const { readOnlyHint, destructiveHint } = annotations as Readonly<Record<string, unknown>>
  if (readOnlyHint === true) return <StatePill state="done" word="only reads" detail="says the server" />
  if (destructiveHint === true) return <StatePill state="attention" word="may delete data" detail="says the server" />
  return null
}
