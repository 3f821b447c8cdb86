import { ActionIcon, Button, Menu } from '@mantine/core'
import {
  IconArrowsDiff,
  IconArrowsMinimize,
  IconDots,
  IconDownload,
  IconFileText,
  IconGitFork,
  IconLayoutSidebarRight,
  IconPlayerStop,
  IconTrash,
} from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { client } from '../../../data/client.ts'
import { MayChange } from '../../../parts/may-change.tsx'
import { showProblem } from '../../../parts/notices.ts'
import { exportEvents, exportMarkdown } from '../export.ts'
import { sessionQuery } from '../queries.ts'

/** Dialogs of the header. */
export type Dialog = 'interrupt' | 'fork' | 'delete'

interface Props {
  readonly sessionId: string
  readonly title: string
  readonly canInterrupt: boolean
  readonly isDeleted: boolean
  readonly onOpen: (dialog: Dialog) => void
  readonly onInspector: () => void
}

/** What can be done with the whole session. */
export function Actions({ sessionId, title, canInterrupt, isDeleted, onOpen, onInspector }: Props) {
  return (
    <>
      {canInterrupt && (
        <MayChange>
          <Button
            variant="default"
            leftSection={<IconPlayerStop size={14} aria-hidden />}
            onClick={() => onOpen('interrupt')}
          >
            Interrupt run
          </Button>
        </MayChange>
      )}
      <MoreMenu sessionId={sessionId} title={title} isDeleted={isDeleted} onOpen={onOpen} />
      <ActionIcon aria-label="Show or hide the inspector" onClick={onInspector}>
        <IconLayoutSidebarRight size={16} />
      </ActionIcon>
    </>
  )
}

function MoreMenu({ sessionId, title, isDeleted, onOpen }: Omit<Props, 'canInterrupt' | 'onInspector'>) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const compact = useMutation({
    mutationFn: () => client.sessions.compact({ params: { session_id: sessionId } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionQuery(sessionId).queryKey }),
    onError: error => showProblem('compact the conversation', error),
  })
  const save = useMutation({ mutationFn: (run: () => Promise<void>) => run() })
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon aria-label="More actions" loading={save.isPending || compact.isPending}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <MayChange>
          <Menu.Item leftSection={<IconGitFork size={14} />} onClick={() => onOpen('fork')} disabled={isDeleted}>
            Fork session
          </Menu.Item>
        </MayChange>
        <Menu.Item
          leftSection={<IconArrowsDiff size={14} />}
          onClick={() => void navigate({ to: '/console/compare', search: { a: sessionId } })}
        >
          Compare session
        </Menu.Item>
        <MayChange>
          <Menu.Item
            leftSection={<IconArrowsMinimize size={14} />}
            onClick={() => compact.mutate()}
            disabled={isDeleted}
          >
            Compact conversation
          </Menu.Item>
        </MayChange>
        <Menu.Divider />
        <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => save.mutate(() => exportEvents(sessionId))}>
          Export events (JSONL)
        </Menu.Item>
        <Menu.Item
          leftSection={<IconFileText size={14} />}
          onClick={() => save.mutate(() => exportMarkdown(sessionId, title))}
        >
          Export transcript (Markdown)
        </Menu.Item>
        <MayChange>
          <Menu.Divider />
          <Menu.Item
            color="red"
            leftSection={<IconTrash size={14} />}
            onClick={() => onOpen('delete')}
            disabled={isDeleted}
          >
            Delete session
          </Menu.Item>
        </MayChange>
      </Menu.Dropdown>
    </Menu>
  )
}
