import { Button, Code, Group, Stack, Switch, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Delivery, DeliveryDetail } from '../../../../../src/contract/webhooks.ts'
import { client } from '../../../data/client.ts'
import { useAddress } from '../../../parts/address.ts'
import { CodeBlock } from '../../../parts/code.tsx'
import { Id } from '../../../parts/copy.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { Time } from '../../../parts/figures.tsx'
import { bytes, duration, plural } from '../../../parts/format.ts'
import { MayChange } from '../../../parts/may-change.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { SidePanel } from '../../../parts/side-panel.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import { deliveriesKey, deliveryQuery } from '../queries.ts'
import { deliveryStates, idHeaderOf, kinds, latencyOf } from './delivery-state.ts'
import { redacted } from './redact.ts'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** One delivery: its outcome, what identified it, its payload, and a way to deliver it again. */
export function DeliveryPanel({ id, onClose }: Props) {
  const { data: delivery, error, refetch } = useQuery(deliveryQuery(id))
  return (
    <SidePanel title="Delivery" onClose={onClose}>
      {!delivery &&
        (error ? <ProblemBlock error={error} what="load the delivery" retry={() => void refetch()} /> : <Loading />)}
      {delivery && (
        <Stack gap="md">
          <Group gap="sm">
            <StatePill {...deliveryStates[delivery.status]} />
            <Id id={delivery.id} what="id of the log entry" />
          </Group>
          {delivery.error !== null && (
            <Text size="sm">
              <SafeText text={delivery.error} />
            </Text>
          )}
          <DeliveryFacts delivery={delivery} />
          <Payload delivery={delivery} />
          <MayChange>
            <Replay delivery={delivery} />
          </MayChange>
        </Stack>
      )}
    </SidePanel>
  )
}

function DeliveryFacts({ delivery }: { readonly delivery: Delivery }) {
  const { agent_id, request_id, session_id, event, received_at, attempts, kind, replay_of, headers } = delivery
  const latency = latencyOf(delivery)
  const header = idHeaderOf(delivery)
  const others = Object.entries(headers)
  return (
    <Facts
      of={[
        ['Received', <Time key="time" at={received_at} />],
        ['Latency', latency === undefined ? 'still processing' : duration(latency)],
        ['From', kinds[kind]],
        [
          'Replay of',
          replay_of !== null && (
            <TextLink to="." search={{ tab: 'deliveries', open: replay_of }}>
              Show the first delivery
            </TextLink>
          ),
        ],
        ['Event', event === null ? 'has no name' : <SafeText key="event" text={event} />],
        [
          'Delivery id',
          <span key="id">
            <Code>
              <SafeText text={request_id} />
            </Code>{' '}
            <span className="soft">{header ?? 'made by the service: each request is new'}</span>
          </span>,
        ],
        ['Attempts', attempts > 1 && attempts],
        [
          'Agent',
          <TextLink key="agent" to="/console/agents/$agentId" params={{ agentId: agent_id }} search={{}}>
            Open agent
          </TextLink>,
        ],
        [
          'Session',
          session_id === '' ? (
            'none'
          ) : (
            <TextLink key="session" to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
              Open session
            </TextLink>
          ),
        ],
        [
          'Headers',
          others.length > 0 &&
            others.map(([name, value]) => (
              <div key={name} className="mono">
                <SafeText text={`${name}: ${value}`} />
              </div>
            )),
        ],
      ]}
    />
  )
}

function Payload({ delivery: { payload, payload_bytes } }: { readonly delivery: DeliveryDetail }) {
  const [isExact, setExact] = useState(false)
  if (payload === null) {
    return (
      <Text size="sm" c="dimmed">
        The payload of {bytes(payload_bytes)} is not stored: it exceeds 1 MB, or its key is gone.
      </Text>
    )
  }
  const shown = redacted(payload)
  return (
    <section aria-label="Payload">
      <Group justify="space-between" mb="xs">
        <Title order={3}>Payload</Title>
        {shown.count > 0 && (
          <Switch
            size="xs"
            label={`Show ${plural(shown.count, 'masked value')}`}
            checked={isExact}
            onChange={({ currentTarget }) => setExact(currentTarget.checked)}
          />
        )}
      </Group>
      <CodeBlock text={isExact ? payload : shown.text} what="payload" />
    </section>
  )
}

function Replay({ delivery }: { readonly delivery: DeliveryDetail }) {
  const [, setAddress] = useAddress<'open'>()
  const queries = useQueryClient()
  const replay = useMutation({
    mutationFn: () => client.webhooks.replay({ params: { delivery_id: delivery.id } }),
    onSuccess: ({ id }) => setAddress({ open: id }, { isStep: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: deliveriesKey }),
  })
  return (
    <section aria-label="Replay">
      <Title order={3} mb="xs">
        Deliver again
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        A replay has a new id and is linked to this delivery. It runs under your key, with the current settings. When
        the sender delivers this id again, the service answers duplicate for 7 days and starts nothing.
      </Text>
      <Button
        variant="default"
        onClick={() => replay.mutate()}
        loading={replay.isPending}
        disabled={delivery.payload === null}
      >
        Replay delivery
      </Button>
      <ProblemLine error={replay.error} />
    </section>
  )
}
