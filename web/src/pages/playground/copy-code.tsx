import { Modal, Stack, Tabs, Text } from '@mantine/core'
import type { Fields } from '../../data/json.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { copyTexts } from './wire/copy-texts.ts'
import type { Format } from './wire/form.ts'

interface Props {
  readonly format: Format
  readonly body: Fields
  readonly onClose: () => void
}

/** The request of a column as programs. */
export function CopyCode({ format, body, onClose }: Props) {
  const texts = copyTexts({ address: window.location.origin, format, body })
  return (
    <Modal opened onClose={onClose} title="Copy the request as code" size="xl">
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          Put a key of this service in place of <b>sk-…</b>, then run the commands in an empty folder.
        </Text>
        <Tabs defaultValue={texts[0]?.language ?? null} keepMounted={false}>
          <Tabs.List>
            {texts.map(({ language }) => (
              <Tabs.Tab key={language} value={language}>
                {language}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {texts.map(({ language, note, text }) => (
            <Tabs.Panel key={language} value={language}>
              <Stack gap="xs" mt="sm">
                <Text size="sm" c="dimmed">
                  {note}
                </Text>
                <CodeBlock text={text} what={`commands for ${language}`} maxLines={40} />
              </Stack>
            </Tabs.Panel>
          ))}
        </Tabs>
      </Stack>
    </Modal>
  )
}
