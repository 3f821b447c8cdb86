import type { Approval } from '../../contract/approvals.ts'
import { escaped, page } from '../http/public-page.ts'

/** Page of a link: the exact call, and the two answers. The form is sent to the address of the page. */
export const requestPage = ({ name, input, agent_id, session_id, expires_at }: Approval): string =>
  page(
    `Allow the tool call ${name}?`,
    `<p>Agent ${escaped(agent_id || 'none')}, session ${escaped(session_id)}. Expires at ${escaped(expires_at)}.</p>` +
      `<p>Arguments:</p><pre>${escaped(JSON.stringify(input, null, 2) ?? 'none')}</pre>` +
      `<form method="post"><p><label>Message to the agent, if you deny the call<br>` +
      `<input name="message" maxlength="10000" autocomplete="off"></label></p>` +
      `<button name="result" value="allow">Allow once</button><button name="result" value="deny">Deny</button></form>`,
  )

/** Page after an answer. */
export const answeredPage = ({ name, state }: Approval): string =>
  page(`The tool call ${name} was ${state}`, '<p>You can close this page.</p>')

/** Page of every link that cannot be used, whatever the reason. */
export const invalidPage: string = page(
  'This link is not valid',
  '<p>The link was used, has expired, or is incomplete. Pending approvals are listed by <code>GET /api/approvals</code>.</p>',
)
