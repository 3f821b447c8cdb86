import { randomBytes } from 'node:crypto'
import {
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  type McpHttpHandler,
  McpServer,
  ProtocolError,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { serveHandler } from '../../support/mcp/serve-handler.ts'
import {
  contentsOf,
  fixedResults,
  forms,
  formWith,
  isFixed,
  listedTools,
  logLines,
  messagesOf,
  prompts,
  resources,
  resourceTemplates,
  stepsOf,
  text,
} from './content.ts'
import { createTasks, taskExtensions, taskTools } from './modern-tasks.ts'

const states = createRequestStateCodec<{ step: string }>({ key: randomBytes(32) })

type Answers = Readonly<Record<string, { content?: Record<string, unknown>; roots?: unknown[] } | undefined>>
type Result = ReturnType<typeof text> | ReturnType<typeof inputRequired>
interface Call {
  readonly context: ServerContext
  readonly answers: Answers
  readonly args: Readonly<Record<string, unknown>>
  readonly notify: () => McpHttpHandler['notify']
}

const elicit = (message: string, field = 'name', type = 'string') =>
  inputRequired.elicit({ message, requestedSchema: formWith(field, type) as never })
const sample = (prompt: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens: 100,
  })
const stepOf = ({ mcpReq }: ServerContext): string | undefined =>
  (mcpReq.requestState() as { step: string } | undefined)?.step

/** Asks with a form, and returns the answer. */
async function filled({ answers }: Call, requestedSchema: object): Promise<Result> {
  if (answers['reply']) return text(`Elicitation completed: ${JSON.stringify(answers['reply'])}`)
  const reply = inputRequired.elicit({ message: 'Review the form', requestedSchema: requestedSchema as never })
  return inputRequired({ inputRequests: { reply } })
}

const capabilitiesOf = ({ envelope }: ServerContext['mcpReq']): { sampling?: object; elicitation?: object } =>
  (envelope as Record<string, object> | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}

const calls: Readonly<Record<string, (call: Call) => Promise<Result>>> = {
  async test_tool_with_progress({ context: { mcpReq } }) {
    const token = mcpReq._meta?.progressToken ?? 0
    for (const params of stepsOf(token)) await mcpReq.notify({ method: 'notifications/progress', params })
    return text(String(token))
  },
  async test_tool_with_logging({ context }) {
    for (const line of logLines) await context.mcpReq.log('info', line)
    return text('Tool with logging executed successfully')
  },
  test_sampling: async ({ answers, args }) =>
    answers['reply']
      ? text(`LLM response: ${JSON.stringify(answers['reply'].content)}`)
      : inputRequired({ inputRequests: { reply: sample(String(args['prompt'])) } }),
  test_elicitation: async ({ answers, args }) =>
    answers['reply']
      ? text(`Answer: ${JSON.stringify(answers['reply'])}`)
      : inputRequired({ inputRequests: { reply: elicit(String(args['message']), 'username') } }),
  test_elicitation_sep1034_defaults: call => filled(call, forms.test_elicitation_sep1034_defaults),
  test_elicitation_sep1330_enums: call => filled(call, forms.test_elicitation_sep1330_enums),
  async test_logging_tool({ context }) {
    await context.mcpReq.log('info', 'Tool executed')
    return text('logged')
  },
  async test_missing_capability({ context: { mcpReq } }) {
    if (!capabilitiesOf(mcpReq).sampling)
      throw new ProtocolError(-32_021, 'sampling is needed', { requiredCapabilities: { sampling: {} } })
    return text('Success')
  },
  test_streaming_elicitation: async ({ context: { mcpReq } }) => {
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: mcpReq._meta?.progressToken ?? 0, progress: 1 },
    })
    return inputRequired({ inputRequests: { user_name: elicit('Your name?') } })
  },
  test_trigger_tool_change: async ({ notify }) => {
    notify().toolsChanged()
    return text('changed')
  },
  test_trigger_prompt_change: async ({ notify }) => {
    notify().promptsChanged()
    return text('changed')
  },
  test_input_required_result_elicitation: async ({ answers }) => {
    const name = answers['user_name']?.content?.['name']
    return typeof name === 'string'
      ? text(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: elicit('Your name?') } })
  },
  test_input_required_result_sampling: async ({ answers }) =>
    answers['capital_question']
      ? text(`Sampled: ${JSON.stringify(answers['capital_question'])}`)
      : inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?') } }),
  test_input_required_result_list_roots: async ({ answers }) =>
    answers['client_roots']
      ? text(`Roots: ${JSON.stringify(answers['client_roots'].roots)}`)
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  test_input_required_result_request_state: async ({ context, answers }) =>
    stepOf(context) === 'confirm' && answers['confirm']
      ? text('state-ok')
      : inputRequired({
          inputRequests: { confirm: elicit('Please confirm', 'ok', 'boolean') },
          requestState: await states.mint({ step: 'confirm' }),
        }),
  test_input_required_result_multiple_inputs: async ({ context, answers }) =>
    stepOf(context) === 'all' && answers['user_name'] && answers['greeting'] && answers['client_roots']
      ? text('all inputs received')
      : inputRequired({
          inputRequests: {
            user_name: elicit('Your name?'),
            greeting: sample('Generate a greeting'),
            client_roots: inputRequired.listRoots(),
          },
          requestState: await states.mint({ step: 'all' }),
        }),
  async test_input_required_result_multi_round({ context, answers }) {
    const step = stepOf(context)
    if (step === 'second' && answers['step2']) return text('both rounds complete')
    const isFirstDone = step === 'first' && answers['step1'] !== undefined
    return inputRequired({
      inputRequests: isFirstDone ? { step2: elicit('Your colour?', 'color') } : { step1: elicit('Your name?') },
      requestState: await states.mint({ step: isFirstDone ? 'second' : 'first' }),
    })
  },
  test_input_required_result_tampered_state: async ({ context, answers }) =>
    stepOf(context) === 'tamper' && answers['confirm']
      ? text('integrity-ok')
      : inputRequired({
          inputRequests: { confirm: elicit('Please confirm', 'ok', 'boolean') },
          requestState: await states.mint({ step: 'tamper' }),
        }),
  async test_input_required_result_capabilities({ context: { mcpReq } }) {
    const capabilities = capabilitiesOf(mcpReq)
    return inputRequired({
      inputRequests: {
        ...(capabilities.elicitation && { elicit_input: elicit('A value?', 'value') }),
        ...(capabilities.sampling && { sample_input: sample('Hello') }),
      },
    })
  },
}

const headerTool = 'test_tool_with_header'
const markedInput = {
  type: 'object' as const,
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
}

function conformanceServer(notify: () => McpHttpHandler['notify'], tasks: ReturnType<typeof createTasks>): McpServer {
  const registered = new McpServer(
    { name: 'modern-conformance', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: {},
        completions: {},
        logging: {},
        extensions: taskExtensions,
      },
      requestState: { verify: states.verify },
    },
  )
  // The SDK checks the headers of registered tools only.
  const inputSchema = fromJsonSchema<{ region?: string }>(markedInput)
  registered.registerTool(headerTool, { description: 'Wants its region in a header', inputSchema }, async () =>
    text(''),
  )
  const { server } = registered
  tasks.serve(server)
  server.setRequestHandler('tools/list', async () => ({
    tools: listedTools([...Object.keys(fixedResults), ...Object.keys(calls), ...taskTools, headerTool], {
      [headerTool]: markedInput,
    }),
  }))
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, context) => {
    if (isFixed(name)) return fixedResults[name] as never
    if (name === headerTool) return text(String(args['region'])) as never
    const tasked = await tasks.called(name, args, context)
    if (tasked) return tasked as never
    const call = calls[name]
    if (!call) throw new ProtocolError(-32_602, `unknown tool ${name}`)
    return (await call({ context, notify, args, answers: (context.mcpReq.inputResponses ?? {}) as Answers })) as never
  })
  server.setRequestHandler('resources/list', async () => ({ resources }))
  server.setRequestHandler('resources/templates/list', async () => ({ resourceTemplates }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = contentsOf(uri)
    if (!contents) throw new ProtocolError(-32_602, 'resource not found', { uri })
    return { contents: [contents] }
  })
  server.setRequestHandler('prompts/list', async () => ({
    prompts: [...prompts, { name: 'test_input_required_result_prompt', description: 'Asks first' }],
  }))
  server.setRequestHandler('prompts/get', async ({ params }, { mcpReq }) => {
    if (params.name === 'test_input_required_result_prompt' && !mcpReq.inputResponses)
      return inputRequired({ inputRequests: { user_context: elicit('Which context?', 'context') } }) as never
    const messages = messagesOf(
      params.name === 'test_input_required_result_prompt' ? 'test_simple_prompt' : params.name,
      params.arguments,
    )
    if (!messages) throw new ProtocolError(-32_602, `unknown prompt ${params.name}`)
    return { messages }
  })
  server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }))
  return registered
}

/** Starts the server of the modern era; stopped after the last test. */
export async function startModernConformanceServer(): Promise<string> {
  const tasks = createTasks()
  const handler: McpHttpHandler = createMcpHandler(() => conformanceServer(() => handler.notify, tasks), {
    legacy: 'reject',
  })
  return serveHandler(handler, ({ headers: { host, origin } }, port) => {
    const isOwn = (given: string | undefined) =>
      given === undefined || ['127.0.0.1', 'localhost'].some(name => given === `${name}:${port}`)
    return isOwn(host) && isOwn(origin && URL.parse(origin)?.host)
  })
}
