import { Button } from '@mantine/core'
import { useState } from 'react'
import { plural } from '../../parts/format.ts'
import { SaveDialog } from './save-dialog.tsx'
import type { Editing } from './use-draft.ts'

/** What is not saved yet, and the way to save it. */
export function SaveBar({ editing }: { readonly editing: Editing }) {
  const [isOpen, setOpen] = useState(false)
  const count = editing.changes.length
  if (count === 0 && !isOpen) return null
  return (
    <>
      <span className="soft" role="status">
        {plural(count, 'unsaved change')}
      </span>
      <Button variant="default" onClick={editing.discard}>
        Discard changes
      </Button>
      <Button onClick={() => setOpen(true)}>Review and save</Button>
      {isOpen && <SaveDialog editing={editing} onClose={() => setOpen(false)} />}
    </>
  )
}
