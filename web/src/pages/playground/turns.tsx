import { ActionIcon, Button, FileButton, Group, Text, Textarea, Tooltip } from '@mantine/core'
import { IconPhotoPlus, IconPlus, IconSwitchHorizontal, IconTrash } from '@tabler/icons-react'
import { type ClipboardEvent, useState } from 'react'
import { onceKey } from '../../data/once-key.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { imageBlockOf, imageTypes } from './images.ts'
import css from './playground.module.css'
import { TurnBlocks } from './turn-blocks.tsx'
import { type Turn, textOfBlocks, withText } from './wire/form.ts'

interface Props {
  readonly turns: readonly Turn[]
  readonly onChange: (turns: readonly Turn[]) => void
}

/** The conversation that the models get. The last turn has the focus when one is added. */
export function Turns({ turns, onChange }: Props) {
  const [added, setAdded] = useState<string>()
  const replace = (turn: Turn) => onChange(turns.map(each => (each.id === turn.id ? turn : each)))
  const add = () => {
    const id = onceKey()
    setAdded(id)
    onChange([...turns, { id, role: turns.at(-1)?.role === 'user' ? 'assistant' : 'user', content: [] }])
  }
  return (
    <section className={css.turns} aria-label="Turns">
      {turns.map((turn, at) => (
        <TurnEditor
          key={turn.id}
          turn={turn}
          name={`Turn ${at + 1}, ${turn.role}`}
          isFocused={turn.id === added}
          onChange={replace}
          onRemove={turns.length === 1 ? undefined : () => onChange(turns.filter(each => each.id !== turn.id))}
        />
      ))}
      <Group>
        <Button variant="subtle" size="compact-xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={add}>
          Add turn
        </Button>
      </Group>
    </section>
  )
}

interface EditorProps {
  readonly turn: Turn
  readonly name: string
  readonly isFocused: boolean
  readonly onChange: (turn: Turn) => void
  readonly onRemove: (() => void) | undefined
}

function TurnEditor({ turn, name, isFocused, onChange, onRemove }: EditorProps) {
  const [problem, setProblem] = useState<string>()
  const isUser = turn.role === 'user'
  const addImages = async (files: readonly File[]) => {
    setProblem(undefined)
    try {
      const blocks = await Promise.all(files.map(imageBlockOf))
      onChange({ ...turn, content: [...turn.content, ...blocks] })
    } catch (failure) {
      setProblem(failure instanceof Error ? failure.message : 'The images cannot be read')
    }
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (!isUser || files.length === 0) return
    event.preventDefault()
    void addImages(files)
  }
  return (
    <div className={css.turn} data-role={turn.role}>
      <div className={css.turnHead}>
        <b>{isUser ? 'User' : 'Assistant'}</b>
        <span className={css.grow} />
        {isUser && (
          <FileButton multiple accept={imageTypes.join(',')} onChange={files => void addImages(files)}>
            {props => (
              <Tooltip label="Add images">
                <ActionIcon {...props} size="sm" aria-label={`Add images to ${name}`}>
                  <IconPhotoPlus size={15} />
                </ActionIcon>
              </Tooltip>
            )}
          </FileButton>
        )}
        <Tooltip label={isUser ? 'Change to assistant' : 'Change to user'}>
          <ActionIcon
            size="sm"
            aria-label={`Change the role of ${name}`}
            onClick={() => onChange({ ...turn, role: isUser ? 'assistant' : 'user' })}
          >
            <IconSwitchHorizontal size={15} />
          </ActionIcon>
        </Tooltip>
        {onRemove && (
          <Tooltip label="Remove turn">
            <ActionIcon size="sm" aria-label={`Remove ${name}`} onClick={onRemove}>
              <IconTrash size={15} />
            </ActionIcon>
          </Tooltip>
        )}
      </div>
      <Textarea
        aria-label={name}
        placeholder={isUser ? 'Message to the model' : 'What the model answered, or how its answer starts'}
        value={textOfBlocks(turn.content)}
        onChange={({ currentTarget }) => onChange({ ...turn, content: withText(turn.content, currentTarget.value) })}
        onPaste={onPaste}
        autoFocus={isFocused}
        autosize
        minRows={2}
        maxRows={16}
      />
      <TurnBlocks content={turn.content} onChange={content => onChange({ ...turn, content })} />
      {problem !== undefined && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          <SafeText text={problem} />
        </Text>
      )}
    </div>
  )
}
