import { ActionIcon, TextInput, Title, Tooltip } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { client } from '../../../data/client.ts'
import { problemOf } from '../../../data/problem.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { sessionQuery } from '../queries.ts'
import css from './header.module.css'

interface Props {
  readonly sessionId: string
  readonly title: string
  readonly canEdit: boolean
}

/** The title of the session. The pencil opens a field; Enter saves, Esc returns. */
export function TitleField({ sessionId, title, canEdit }: Props) {
  const [draft, setDraft] = useState<string>()
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: (next: string) => client.sessions.update({ params: { session_id: sessionId }, body: { title: next } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: sessionQuery(sessionId).queryKey })
      setDraft(undefined)
    },
  })
  const submit = () => {
    const next = draft?.trim() ?? ''
    if (next === '' || next === title) setDraft(undefined)
    else save.mutate(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') submit()
    if (event.key === 'Escape') {
      event.stopPropagation()
      setDraft(undefined)
    }
  }
  if (draft !== undefined) {
    return (
      <TextInput
        className={css.titleField ?? ''}
        aria-label="Title of the session"
        value={draft}
        maxLength={200}
        autoFocus
        onChange={({ currentTarget }) => setDraft(currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={() => !save.isError && submit()}
        disabled={save.isPending}
        error={save.isError && problemOf(save.error).message}
      />
    )
  }
  return (
    <div className={css.titleLine}>
      <Title order={1} className="clip" title={title}>
        <SafeText text={title} />
      </Title>
      {canEdit && (
        <Tooltip label="Change title">
          <ActionIcon size="sm" aria-label="Change title" onClick={() => setDraft(title)}>
            <IconPencil size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </div>
  )
}
