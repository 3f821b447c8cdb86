import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { McpServer } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { DiffView } from '../../parts/diff-view.tsx'
import { plural } from '../../parts/format.ts'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './mcp.module.css'
import { toolListsQuery } from './queries.ts'
import { changesBetween, type ToolChange } from './tool-changes.ts'

/** Says that the tools of a server have changed, and lets an administrator compare and accept them. */
export function ToolReview({ server }: { readonly server: McpServer }) {
  const isAdmin = useIsAdmin()
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <div className={css.notice}>
      <IconAlertTriangle size={16} aria-hidden />
      <div>
        <Text size="sm">
          This server changed its tools. New and changed tools cannot be seen or called until an administrator accepts
          them.
        </Text>
        {isAdmin && (
          <Button mt="xs" onClick={open}>
            Review changed tools
          </Button>
        )}
      </div>
      {isOpen && <Review server={server} onClose={close} />}
    </div>
  )
}

function Review({ server, onClose }: { readonly server: McpServer; readonly onClose: () => void }) {
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery({ ...toolListsQuery(server.server_id), staleTime: 0 })
  const accept = useMutation({
    // With the hash of what is shown: the server may have changed its tools again.
    mutationFn: (hash: string) =>
      client.mcp.accept({ params: { server_id: server.server_id }, body: { pending_tools_hash: hash } }),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['mcp'] })
    },
  })
  const changes = data && changesBetween(data.accepted ?? [], data.pending ?? data.accepted ?? [])
  return (
    <Modal opened onClose={onClose} title={`Changed tools of ${server.server_name}`} size={900}>
      <Stack gap="md">
        <Text size="sm">
          The text of a tool goes into the prompts of agents. Read what changed: a server can use it to instruct models.
        </Text>
        {!changes &&
          (error ? (
            <ProblemBlock error={error} what="load the tool lists" retry={() => void refetch()} />
          ) : (
            <Loading />
          ))}
        {changes?.map(change => (
          <Change key={change.name} change={change} />
        ))}
        <ProblemLine error={accept.error} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            Keep holding them
          </Button>
          <Button
            onClick={() => accept.mutate(data?.pending_tools_hash ?? '')}
            loading={accept.isPending}
            disabled={!changes?.length}
          >
            Accept {plural(changes?.length ?? 0, 'change')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

const shown = {
  new: { state: 'attention', word: 'new' },
  changed: { state: 'waiting', word: 'changed' },
  removed: { state: 'stopped', word: 'removed' },
} as const

function Change({ change }: { readonly change: ToolChange }) {
  return (
    <section aria-label={`Tool ${change.name}`}>
      <Group gap="sm" mb="xs">
        <StatePill {...shown[change.kind]} />
        <span className="mono">
          <SafeText text={change.name} />
        </span>
      </Group>
      <DiffView before={change.before} after={change.after} label={`Changes of ${change.name}`} />
    </section>
  )
}
