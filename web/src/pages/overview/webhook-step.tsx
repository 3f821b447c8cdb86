import { Group, Stack, Text } from '@mantine/core'
import { LinkButton } from '../../parts/link-button.tsx'

/** Leads to the set-up of a webhook. */
export function WebhookStep({ agentId }: { readonly agentId: string | undefined }) {
  return (
    <Stack gap="sm" mt="sm">
      <Text size="sm">
        A webhook of GitHub, Slack, Stripe, Linear or GitLab starts a session of an agent for each event.
      </Text>
      <Group>
        <LinkButton
          variant="default"
          to="/console/webhooks"
          search={{ create: '1', ...(agentId && { agent: agentId }) }}
        >
          Set up webhook
        </LinkButton>
      </Group>
    </Stack>
  )
}
