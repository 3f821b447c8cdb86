import { Button, Checkbox, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { CopyButton } from './copy.tsx'

interface Props {
  /** What it is: `API key "Team mate"`. */
  readonly what: string
  readonly secret: string
  /** Snippets that use it. */
  readonly children?: ReactNode
  readonly onClose: () => void
}

/** Shows a secret once. It exists in the memory of this dialog only, which closes when the person confirms. */
export function SecretOnce({ what, secret, children, onClose }: Props) {
  const [isSaved, setSaved] = useState(false)
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={what}
      size="lg"
    >
      <Stack gap="md">
        <Text size="sm">It is shown only now. The service stores no copy that can be read.</Text>
        <Group gap="xs" wrap="nowrap">
          <Code block style={{ flex: 1, overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }} data-testid="secret">
            {secret}
          </Code>
          <CopyButton text={secret} what="secret" />
        </Group>
        {children}
        <Group justify="space-between">
          <Checkbox
            label="I have saved it"
            checked={isSaved}
            onChange={({ currentTarget }) => setSaved(currentTarget.checked)}
          />
          <Button disabled={!isSaved} onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
