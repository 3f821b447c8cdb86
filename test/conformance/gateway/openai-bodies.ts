/** Parts of Chat Completions requests that no other format carries as they are; texts, so that every byte counts. */
export const chatParts: Readonly<Record<string, string>> = {
  stop: '"stop":["END","\\u00e9nd"]',
  seed: '"seed":9007199254740993',
  penalties: '"frequency_penalty":1e-1,"presence_penalty":-0.50',
  logit_bias: '"logit_bias":{"50256":-100, "1":1.0}',
  logprobs: '"logprobs":true,"top_logprobs":5',
  n: '"n":2',
  prediction: '"prediction":{"type":"content","content":"the same text"}',
  audio: '"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}',
  service_tier: '"service_tier":"flex"',
  prompt_cache_key: '"prompt_cache_key":"team-7","safety_identifier":"u-1","user":"u"',
  'JSON mode': '"response_format":{"type":"json_object"}',
  'a strict schema':
    '"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"b":{"type":["string","null"],"maxLength":5}},"required":["b"],"additionalProperties":false}}}',
  'strict tools':
    '"tools":[{"type":"function","function":{"name":"look","strict":true,"parameters":{"type":"object","properties":{},"additionalProperties":false}}}],"tool_choice":"required","parallel_tool_calls":false',
  'a limit of the older kind': '"max_tokens":20,"temperature":1.0,"top_p":1',
  'a limit of the newer kind': '"max_completion_tokens":20,"reasoning_effort":"minimal","verbosity":"low"',
  storage: '"store":true,"metadata":{"a":"b"}',
  'fields of tomorrow': '"field_of_tomorrow":{"model":"x","a":[1.0,1e5]}',
}

const said = '{"role":"user","content":"hi"}'

/** Messages of Chat Completions, likewise. */
export const chatMessages: Readonly<Record<string, string>> = {
  'a system role in the middle': `[${said},{"role":"assistant","content":"yes?"},{"role":"system","content":"Be brief."},${said}]`,
  'a developer': `[{"role":"developer","content":[{"type":"text","text":"Be brief."}],"name":"d"},${said}]`,
  'the detail of an image':
    '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example/b.png","detail":"low"}}]}]',
  'the id of a file': '[{"role":"user","content":[{"type":"file","file":{"file_id":"file-abc"}}]}]',
  'a refusal and an empty content': `[${said},{"role":"assistant","content":null,"refusal":"no"},${said}]`,
}

/** Parts of Responses requests, likewise. */
export const responseParts: Readonly<Record<string, string>> = {
  instructions: '"input":"hi","instructions":"Be brief."',
  'an earlier response': '"input":"hi","previous_response_id":"resp_1","store":true',
  conversation: '"input":"hi","conversation":{"id":"conv_1"}',
  reasoning:
    '"input":"hi","reasoning":{"effort":"minimal","summary":"concise"},"include":["reasoning.encrypted_content"],"store":false',
  'a strict schema':
    '"input":"hi","text":{"verbosity":"low","format":{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{},"additionalProperties":false}}}',
  'tools of the provider':
    '"input":"hi","tools":[{"type":"web_search","user_location":{"type":"approximate","country":"DE"}},{"type":"code_interpreter","container":{"type":"auto"}}],"max_tool_calls":3',
  'strict tools':
    '"input":"hi","tools":[{"type":"function","name":"look","strict":true,"parameters":{"type":"object","properties":{},"additionalProperties":false}}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]},"parallel_tool_calls":false',
  logprobs: '"input":"hi","top_logprobs":5,"include":["message.output_text.logprobs"]',
  'tier and cache': '"input":"hi","service_tier":"priority","prompt_cache_key":"team-7","prompt_cache_retention":"24h"',
  'limits and truncation': '"input":"hi","max_output_tokens":20,"truncation":"auto","metadata":{"a":"b"}',
  'the detail of an image':
    '"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a.example/b.png","detail":"low"}]}]',
  'the id of a file': '"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-abc"}]}]',
  'a developer in the middle':
    '"input":[{"role":"user","content":"hi"},{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"}]',
  'fields of tomorrow': '"input":"hi","field_of_tomorrow":{"model":"x","a":[1.0,1e5]}',
}
