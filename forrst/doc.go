// Package forrst is an RPC server library with streaming functions. It implements the Forrst protocol, version 0.1.0: one
// JSON document per call over HTTP, errors with codes and pointers, extensions that clients ask for by URN, and streams of
// server-sent events.
//
//	type GetUser struct {
//		ID int `json:"id" required:"true" minimum:"1"`
//	}
//
//	get := forrst.Func("users.get", "1.0.0", func(ctx context.Context, in GetUser) (User, error) {
//		return users.Get(ctx, in.ID)
//	})
//	server, err := forrst.New([]forrst.Function{get}, forrst.Options{})
//	http.Handle("/forrst", server)
//
// A streamable function is an iterator of [Chunk] values:
//
//	forrst.StreamFunc[Prompt, Text]("ai.generate", "1.0.0", func(ctx context.Context, in Prompt) iter.Seq2[forrst.Chunk, error] {
//		return func(yield func(forrst.Chunk, error) bool) {
//			for word := range words(ctx, in) {
//				if !yield(forrst.Data(map[string]string{"content": word}), nil) {
//					return
//				}
//			}
//			yield(forrst.Done(Text{…}), nil)
//		}
//	})
//
// A call that is cancelled, or whose deadline has passed, gets its reply at once, even if the function ignores its context.
// The function then runs until it returns; [Server.Wait] waits for such functions.
package forrst
