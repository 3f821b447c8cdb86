import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { client } from '../data/client.ts'
import { useIsAdmin } from '../data/sign-in.tsx'
import { Confirm } from './confirm.tsx'
import { plural } from './format.ts'

/** Stops everything that runs, after a question. */
export function StopAll({ running }: { readonly running: number }) {
  const [isOpen, { open, close }] = useDisclosure()
  const queries = useQueryClient()
  const isAdmin = useIsAdmin()
  if (!isAdmin || running === 0) return null
  const run = async () => {
    await client.controls.stop({ body: { all: true, reason: 'stopped in the console' } })
    await queries.invalidateQueries({ queryKey: ['overview'] })
  }
  return (
    <>
      <Button variant="default" onClick={open}>
        Stop all sessions
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={close}
        question="Stop all sessions?"
        consequence={`${plural(running, 'session')} and the model calls of clients end; prompts queued behind them are cancelled. Logs and files stay.`}
        action="Stop all sessions"
        run={run}
      />
    </>
  )
}
