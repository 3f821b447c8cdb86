import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'

/** Asks before a person leaves the page with changes that are not saved. */
export function LeaveGuard({ isDirty }: { readonly isDirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  })
  if (status !== 'blocked') return null
  return (
    <Modal opened onClose={reset} title="Discard your changes?">
      <Stack gap="md">
        <Text size="sm">The changes of this agent are not saved. Leaving the page discards them.</Text>
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={reset} data-autofocus>
            Stay on the page
          </Button>
          <Button color="red" onClick={proceed}>
            Discard changes
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
