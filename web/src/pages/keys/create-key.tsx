import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { ApiKeyWrite, ShownApiKey } from '../../../../src/contract/keys.ts'
import { client } from '../../data/client.ts'
import { onceKey } from '../../data/once-key.ts'
import { useSubmit } from '../../data/submit.ts'
import { SidePanel } from '../../parts/side-panel.tsx'
import { emptyDraft, keyWrite } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'
import { reloadKeys } from './queries.ts'

interface Props {
  /** User that the key is for; the form can change it. */
  readonly userId: string | undefined
  readonly onClose: () => void
  readonly onCreated: (key: ShownApiKey) => void
}

/** The form of a new key. A repeated request after a lost answer creates no second key. */
export function CreateKey({ userId, onClose, onCreated }: Props) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState({ ...emptyDraft, user_id: userId ?? '' })
  const once = useRef({ body: '', key: '' })
  const submit = useSubmit(async () => {
    const body = keyWrite(draft, emptyDraft)
    onCreated(await client.keys.create({ body }, { idempotencyKey: keyFor(body) }))
    await reloadKeys(queries)
  })
  const keyFor = (body: ApiKeyWrite): string => {
    const text = JSON.stringify(body)
    if (once.current.body !== text) once.current = { body: text, key: onceKey() }
    return once.current.key
  }
  return (
    <SidePanel title="Create API key" onClose={onClose}>
      <KeyForm draft={draft} onChange={setDraft} submit={submit} action="Create API key" onCancel={onClose} />
    </SidePanel>
  )
}
