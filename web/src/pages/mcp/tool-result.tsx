import { SegmentedControl, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { McpToolResult } from '../../../../src/contract/mcp.ts'
import { isRecord } from '../../data/json.ts'
import { CodeBlock, JsonBlock } from '../../parts/code.tsx'
import { bytes } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'

type Item = McpToolResult['content'][number]

/** The result of a call. Its texts are shown as they are; nothing in it is run, fetched or linked. */
export function ToolResult({ result }: { readonly result: McpToolResult }) {
  const [view, setView] = useState('content')
  const structured = 'structuredContent' in result ? result.structuredContent : undefined
  return (
    <Stack gap="sm" mt="sm">
      <SegmentedControl
        size="xs"
        style={{ alignSelf: 'start' }}
        aria-label="View of the result"
        data={[
          { value: 'content', label: 'Content' },
          { value: 'raw', label: 'Raw' },
        ]}
        value={view}
        onChange={setView}
      />
      {view === 'raw' ? (
        <JsonBlock value={result} what="result" />
      ) : (
        <>
          {result.content
            .map((item, at) => ({ item, at }))
            .map(({ item, at }) => (
              <Content key={at} item={item} />
            ))}
          {result.content.length === 0 && structured === undefined && (
            <Text size="sm" c="dimmed">
              The result is empty.
            </Text>
          )}
          {structured !== undefined && (
            <div>
              <Text size="sm" c="dimmed">
                Structured content
              </Text>
              <JsonBlock value={structured} what="structured content" />
            </div>
          )}
        </>
      )}
    </Stack>
  )
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function Content({ item }: { readonly item: Item }) {
  const { type } = item
  const text = textOf(item['text'])
  if (type === 'text' && text !== undefined) return <CodeBlock text={text} what="text" />
  const data = textOf(item['data'])
  if (data !== undefined) return <Named kind={`${type}`} name={mediaOf(item)} detail={bytes(sizeOfBase64(data))} />
  if (type === 'resource_link') return <Named kind="link" name={textOf(item['name'])} detail={textOf(item['uri'])} />
  const resource = item['resource']
  if (type === 'resource' && isRecord(resource)) {
    const body = textOf(resource['text'])
    return (
      <div>
        <Named kind="resource" name={textOf(resource['uri'])} detail={mediaOf(resource)} />
        {body !== undefined && <CodeBlock text={body} what="resource" />}
      </div>
    )
  }
  return <JsonBlock value={item} what="content" />
}

const mediaOf = (item: Readonly<Record<string, unknown>>): string | undefined => textOf(item['mimeType'])

const sizeOfBase64 = (data: string): number => Math.floor((data.length * 3) / 4)

interface NamedProps {
  readonly kind: string
  readonly name: string | undefined
  readonly detail: string | undefined
}

/** Content that is named instead of shown. */
function Named({ kind, name, detail }: NamedProps) {
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      <SafeText text={kind} />: {name !== undefined && <SafeText text={name} />}{' '}
      {detail !== undefined && (
        <span className="soft">
          <SafeText text={detail} />
        </span>
      )}
    </Text>
  )
}
