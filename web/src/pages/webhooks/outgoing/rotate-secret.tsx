import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { WebhookEndpoint } from '../../../../../src/contract/webhook-endpoints.ts'
import { client } from '../../../data/client.ts'
import { useSubmit } from '../../../data/submit.ts'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SecretOnce } from '../../../parts/secret-once.tsx'

interface Props {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
}

const graces = [
  { value: '0s', label: 'Now' },
  { value: '1h', label: 'In 1 hour' },
  { value: '24h', label: 'In 24 hours' },
  { value: '7d', label: 'In 7 days' },
]

/** Creates a new secret and shows it once. The old one signs, too, until the grace ends. */
export function RotateSecret({ endpoint, onClose }: Props) {
  const [grace, setGrace] = useState('24h')
  const [secret, setSecret] = useState<string>()
  const { send, error, isRunning } = useSubmit(async () => {
    const rotated = await client.webhookEndpoints.rotate({ params: { endpoint_id: endpoint.id }, body: { grace } })
    setSecret(rotated.secret)
  })
  if (secret !== undefined) return <SecretOnce what="New signing secret" secret={secret} onClose={onClose} />
  return (
    <Modal opened onClose={onClose} title="Rotate the signing secret">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <Text size="sm">
            Until the old secret ends, each delivery has a signature of both, so the receiver can change in between.
          </Text>
          <Select label="The old secret ends" data={graces} value={grace} onChange={next => next && setGrace(next)} />
          <ProblemLine error={error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning}>
              Rotate secret
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
