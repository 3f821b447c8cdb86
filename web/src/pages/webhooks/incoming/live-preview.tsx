import { Code, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { WebhookConfig } from '../../../../../src/contract/webhooks.ts'
import { client } from '../../../data/client.ts'
import { CodeBlock } from '../../../parts/code.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { JsonField } from '../../../parts/json-field.tsx'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { isHeaders } from '../headers.ts'

interface Props {
  readonly agentId: string
  readonly settings: WebhookConfig
  readonly sample: { readonly headers: Readonly<Record<string, string>>; readonly payload: unknown }
}

const debounceMs = 400

/** What a delivery would do with the settings of the form, which need not be stored. */
export function LivePreview({ agentId, settings, sample }: Props) {
  const [payload, setPayload] = useState(sample.payload)
  const [headers, setHeaders] = useState<unknown>(sample.headers)
  const [body] = useDebouncedValue(
    { payload: payload ?? null, settings, ...(isHeaders(headers) && { headers: { ...headers } }) },
    debounceMs,
  )
  const { data, error } = useQuery({
    queryKey: ['webhook-preview', agentId, body],
    queryFn: () => client.webhooks.preview({ params: { agent_id: agentId }, body }),
    placeholderData: keepPreviousData,
    retry: false,
  })
  return (
    <Stack gap="sm">
      <JsonField label="Example payload" value={payload} onChange={setPayload} minRows={6} />
      <JsonField label="Headers of the example" value={headers} onChange={setHeaders} minRows={2} />
      {error ? <ProblemLine error={error} /> : null}
      {data && !error && (
        <>
          {data.outcome === 'accepted' ? (
            <StatePill state="done" word="starts a session" />
          ) : (
            <StatePill state="stopped" word="starts nothing" />
          )}
          <Facts
            of={[
              ['Reason', data.reason !== null && <SafeText text={data.reason} />],
              ['Event', data.event === null ? 'has no name' : <SafeText key="event" text={data.event} />],
              [
                'Conversation',
                data.conversation === null ? (
                  'a session of its own'
                ) : (
                  <Code key="conversation">
                    <SafeText text={data.conversation} />
                  </Code>
                ),
              ],
            ]}
          />
          <Text size="sm">Message for the agent</Text>
          <CodeBlock text={data.message} what="message" />
        </>
      )}
    </Stack>
  )
}
