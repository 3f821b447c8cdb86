import { Code, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { WebhookConfig } from '../../../../../src/contract/webhooks.ts'
import { client } from '../../../data/client.ts'
import { CodeBlock } from '../../../parts/code.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { type Example, ExampleFields, requestOf } from '../example-fields.tsx'

interface Props {
  readonly agentId: string
  readonly settings: WebhookConfig
  readonly example: Example
  readonly onChange: (example: Example) => void
}

const debounceMs = 400

/** What a delivery would do with the settings of the form, which need not be stored. */
export function LivePreview({ agentId, settings, example, onChange }: Props) {
  const [body] = useDebouncedValue({ ...requestOf(example), settings }, debounceMs)
  const { data, error } = useQuery({
    queryKey: ['webhook-preview', agentId, body],
    queryFn: () => client.webhooks.preview({ params: { agent_id: agentId }, body }),
    placeholderData: keepPreviousData,
    retry: false,
  })
  return (
    <Stack gap="sm">
      <ExampleFields example={example} onChange={onChange} />
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
                  'a separate session'
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
