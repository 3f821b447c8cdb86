import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey } from '../../../../src/contract/keys.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { draftOf, keyWrite } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'
import { reloadKeys } from './queries.ts'

interface Props {
  readonly apiKey: ApiKey
  readonly onDone: () => void
}

/** The form of an existing key; it sends only what was changed. */
export function EditKey({ apiKey, onDone }: Props) {
  const queries = useQueryClient()
  const [before] = useState(() => draftOf(apiKey))
  const [draft, setDraft] = useState(before)
  const submit = useSubmit(async () => {
    await client.keys.update({ params: { key_id: apiKey.id }, body: keyWrite(draft, before) })
    await reloadKeys(queries)
    onDone()
  })
  return <KeyForm draft={draft} onChange={setDraft} submit={submit} action="Save key" onCancel={onDone} />
}
