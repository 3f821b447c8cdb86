import { Button, Select, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FreezeWrite } from '../../../../src/contract/controls.ts'
import { client } from '../../data/client.ts'
import { present } from '../../data/present.ts'
import { Confirm } from '../../parts/confirm.tsx'
import css from './settings.module.css'

type Scope = 'all' | 'owner' | 'key_id'

const consequences: Readonly<Record<Scope, string>> = {
  all: 'New model calls of everybody are rejected with 402, and running sessions pause before their next step, until you lift the freeze. Calls in flight end.',
  owner: 'New model calls of the owner are rejected with 402, and its sessions pause, until you lift the freeze.',
  key_id:
    'New model calls with the key and the keys below it are rejected with 402, and their sessions pause, until you lift the freeze.',
}

/** Rejects new model calls and runs of an owner, a key or the whole service. */
export function FreezeForm() {
  const queries = useQueryClient()
  const [scope, setScope] = useState<Scope>('all')
  const [subject, setSubject] = useState('')
  const [reason, setReason] = useState('')
  const [isAsking, setAsking] = useState(false)
  const name = subject.trim()
  const body: FreezeWrite = present({
    all: scope === 'all' ? (true as const) : undefined,
    owner: scope === 'owner' ? name : undefined,
    key_id: scope === 'key_id' ? name : undefined,
    reason: reason.trim() === '' ? undefined : reason.trim(),
  })
  const freeze = async () => {
    await client.controls.freeze({ body })
    setSubject('')
    setReason('')
    await queries.invalidateQueries({ queryKey: ['freezes'] })
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        setAsking(true)
      }}
    >
      <div className={css.fields}>
        <Select
          label="Freeze"
          data={[
            { value: 'all', label: 'All spending' },
            { value: 'owner', label: 'An owner' },
            { value: 'key_id', label: 'A key and those below it' },
          ]}
          value={scope}
          onChange={value => setScope((value as Scope | null) ?? scope)}
        />
        {scope !== 'all' && (
          <TextInput
            label={scope === 'owner' ? 'Owner' : 'Key id'}
            placeholder={scope === 'owner' ? 'ada' : 'key_…'}
            value={subject}
            onChange={({ currentTarget }) => setSubject(currentTarget.value)}
            required
          />
        )}
        <TextInput
          label="Reason"
          placeholder="Shown to callers"
          maxLength={1000}
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
        <div>
          <Button type="submit" variant="default" size="sm" disabled={scope !== 'all' && name === ''}>
            Freeze spending
          </Button>
        </div>
      </div>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        question={scope === 'all' ? 'Freeze all spending?' : `Freeze spending of ${name}?`}
        consequence={consequences[scope]}
        action="Freeze spending"
        run={freeze}
      />
    </form>
  )
}
