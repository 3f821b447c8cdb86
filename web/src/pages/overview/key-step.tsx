import { Group, Stack, Text } from '@mantine/core'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { LinkButton } from '../../parts/link-button.tsx'

/** Leads to the form for keys, which shows what to paste into the tools of a team. */
export function KeyStep() {
  const isAdmin = useIsAdmin()
  return (
    <Stack gap="sm" mt="sm">
      <Text size="sm">
        Claude Code, Codex, opencode and every client of Anthropic or OpenAI can use this service with a key of their
        own. A key has a budget, so a client cannot spend more than you allow.
      </Text>
      <Group>
        {isAdmin ? (
          <LinkButton to="/console/keys" search={{ create: '1' }}>
            Create API key
          </LinkButton>
        ) : (
          <Text size="sm" c="dimmed">
            An administrator creates keys.
          </Text>
        )}
      </Group>
    </Stack>
  )
}
